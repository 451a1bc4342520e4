import type { ConfirmRule } from "../tools/tool.ts";

/** A server that we start, or one that is reached by HTTP. */
export type McpServerConfig = McpCommandConfig | McpUrlConfig;

/** A program that speaks MCP over its standard input and output. */
export interface McpCommandConfig extends McpServerRules {
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few harmless variables that a server inherits from us. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: undefined;
}

/** A server at an address, by streamable HTTP. */
export interface McpUrlConfig extends McpServerRules {
  readonly url: string | URL;
  /** Sent to the origin of `url` and to no other. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A bearer token, or what gives the present one; it is asked before every request. */
  readonly auth?: string | (() => string | undefined | Promise<string | undefined>);
  readonly command?: undefined;
}

interface McpServerRules {
  /** Only these tools, by the server's own names. By default all. */
  readonly allow?: readonly string[];
  /** Never these tools, also when `allow` names them. */
  readonly deny?: readonly string[];
  /**
   * Whether calls need somebody's approval: one rule for all tools, or one for
   * each by the server's own name. By default tools that say of themselves that
   * they only read do not, and all others do.
   */
  readonly confirm?: McpConfirm;
  /** How long it may take to start and to list its tools; by default 10 s. */
  readonly startTimeoutMs?: number;
  /** How long one call may take; by default 60 s. */
  readonly callTimeoutMs?: number;
}

export type McpConfirm = ConfirmRule | Readonly<Record<string, ConfirmRule>>;

/** What holds for all servers of an agent. */
export interface McpOptions {
  readonly logger?: McpLogger;
  /**
   * Every HTTP request goes through it, one for each redirect; by default the egress policy,
   * which reaches public addresses and those that the configuration names.
   */
  readonly fetch?: McpFetch;
  /**
   * A folder in which running servers are recorded, so that those that outlive
   * a crash of this process are ended at the next start. Without it a server
   * only learns of our end by its input.
   */
  readonly folder?: string;
  readonly startTimeoutMs?: number;
  readonly callTimeoutMs?: number;
  /** How long a question of a server may wait for its answer; by default an hour. */
  readonly answerTimeoutMs?: number;
  /** How much of one result is taken, in characters; by default 1 MB. */
  readonly maxResultSize?: number;
  /** How long one message of a server may be, in bytes; by default 10 MB. */
  readonly maxMessageBytes?: number;
  /** How many tools of one server are offered; by default 128. */
  readonly maxTools?: number;
}

/** The `fetch` that a server is reached by. */
export type McpFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Takes what servers print, and what goes wrong with them. The server's logger fits. */
export interface McpLogger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}
