import { type OAuthOptions, checkOAuthOptions } from "@convoke/client/oauth";
import { MAX_TIMER_MS, isObject } from "@convoke/protocol/internal";
import type { ConfirmRule } from "../tools/tool.ts";
import { serverPrefixes } from "./tool-names.ts";

/** The validated settings of one server, with all defaults filled in. */
export interface McpServerSettings {
  readonly name: string;
  /** The prefix of its tool names. */
  readonly prefix: string;
  readonly target: CommandTarget | UrlTarget;
  readonly allow: ReadonlySet<string> | undefined;
  readonly deny: ReadonlySet<string>;
  readonly confirm: McpConfirm | undefined;
  readonly startTimeoutMs: number;
  readonly callTimeoutMs: number;
}

export interface CommandTarget {
  readonly kind: "command";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

export interface UrlTarget {
  readonly kind: "url";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: McpUrlConfig["auth"];
}

/** Settings shared by all servers. */
export interface McpSettings {
  readonly logger: McpLogger;
  readonly fetch: McpFetch | undefined;
  readonly folder: string | undefined;
  readonly answerTimeoutMs: number;
  readonly maxResultSize: number;
  readonly maxMessageBytes: number;
  readonly maxTools: number;
}

const SILENT: McpLogger = { debug: () => undefined, warn: () => undefined };

export function mcpSettings(options: McpOptions): McpSettings {
  const {
    logger = SILENT,
    fetch,
    folder,
    answerTimeoutMs = 3_600_000,
    maxResultSize = 1_000_000,
    maxMessageBytes = 10_000_000,
    maxTools = 128,
  } = options;
  if (folder !== undefined) checkText("folder", folder);
  checkWhole("answerTimeoutMs", answerTimeoutMs);
  checkWhole("maxResultSize", maxResultSize);
  checkWhole("maxMessageBytes", maxMessageBytes);
  checkWhole("maxTools", maxTools);
  return { logger, fetch, folder, answerTimeoutMs, maxResultSize, maxMessageBytes, maxTools };
}

const DEFAULT_CALL_MS = 60_000;

const DEFAULT_START_MS = 10_000;

export function mcpServerSettings(
  servers: Readonly<Record<string, McpServerConfig>>,
  options: McpOptions,
): readonly McpServerSettings[] {
  if (!isObject(servers)) {
    throw new TypeError('mcpServers must be an object of servers: { files: { command: "…" } }');
  }
  const prefixes = serverPrefixes(Object.keys(servers));
  return Object.entries(servers).map(([name, config]) => {
    const field = `mcpServers.${name}`;
    if (!isObject(config)) {
      throw new TypeError(`${field} must be { command: "…" } or { url: "…" }`);
    }
    const { startTimeoutMs = options.startTimeoutMs ?? DEFAULT_START_MS } = config;
    const { callTimeoutMs = options.callTimeoutMs ?? DEFAULT_CALL_MS } = config;
    checkWhole(`${field}.startTimeoutMs`, startTimeoutMs);
    checkWhole(`${field}.callTimeoutMs`, callTimeoutMs);
    return {
      name,
      prefix: prefixes.get(name)!,
      target: target(field, config),
      allow: config.allow && new Set(texts(`${field}.allow`, config.allow)),
      deny: new Set(texts(`${field}.deny`, config.deny ?? [])),
      confirm: confirm(`${field}.confirm`, config.confirm),
      startTimeoutMs,
      callTimeoutMs,
    };
  });
}

const FIELDS = ["allow", "deny", "confirm", "startTimeoutMs", "callTimeoutMs"];
const URL_FIELDS = new Set([...FIELDS, "url", "headers", "auth", "command"]);
const COMMAND_FIELDS = new Set([...FIELDS, "command", "args", "env", "cwd", "url"]);

function target(field: string, config: McpServerConfig): McpServerSettings["target"] {
  const isCommand = config.command !== undefined;
  if (isCommand === (config.url !== undefined)) {
    throw new TypeError(`${field} needs either a command or a url`);
  }
  // Reject unknown keys: a mistyped "deny" must not leave a tool available.
  const unknown = Object.keys(config).find(
    (key) => !(isCommand ? COMMAND_FIELDS : URL_FIELDS).has(key),
  );
  if (unknown !== undefined) {
    const kind = isCommand ? "a command" : "a url";
    throw new TypeError(`${field}.${unknown} is no setting of a server with ${kind}; remove it`);
  }
  if (config.command === undefined) return urlTarget(field, config);
  const { command, args = [], env = {}, cwd } = config;
  checkText(`${field}.command`, command);
  if (cwd !== undefined) checkText(`${field}.cwd`, cwd);
  const variables = textRecord(`${field}.env`, env);
  return { kind: "command", command, args: texts(`${field}.args`, args), env: variables, cwd };
}

function urlTarget(field: string, config: McpUrlConfig): UrlTarget {
  const url = URL.parse(String(config.url));
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new TypeError(`${field}.url must be an http or https address`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(`${field}.url must not hold a password; give it as headers or auth`);
  }
  const { headers = {}, auth } = config;
  checkAuth(`${field}.auth`, auth);
  return { kind: "url", url, headers: textRecord(`${field}.headers`, headers), auth };
}

function checkAuth(field: string, auth: McpUrlConfig["auth"]): void {
  if (auth === undefined || typeof auth === "string" || typeof auth === "function") return;
  if (!isObject(auth) || !isObject(auth.oauth)) {
    throw new TypeError(`${field} must be a token, a function that gives one, or { oauth }`);
  }
  checkOAuthOptions(auth.oauth, `${field}.oauth`);
}

/** Rejects unknown rules, because a mistyped rule must not leave a tool unguarded. */
function confirm(field: string, given: McpConfirm | undefined): McpConfirm | undefined {
  if (given === undefined || isRule(given)) return given;
  if (!isObject(given)) throw new TypeError(`${field} must be "never", "ask" or a function`);
  for (const [toolName, rule] of Object.entries(given)) {
    if (!isRule(rule)) {
      throw new TypeError(`${field}.${toolName} must be "never", "ask" or a function`);
    }
  }
  return given;
}

export function isRule(value: unknown): value is ConfirmRule {
  return value === "never" || value === "ask" || typeof value === "function";
}

function checkText(field: string, value: unknown): void {
  if (typeof value === "string" && value !== "") return;
  throw new TypeError(`${field} must be a text, not ${JSON.stringify(value)}`);
}

function checkWhole(field: string, value: unknown): void {
  // A timer with a larger delay would fire immediately instead of later.
  if (Number.isInteger(value) && Number(value) > 0 && Number(value) <= MAX_TIMER_MS) return;
  throw new TypeError(`${field} must be a whole number above 0, not ${String(value)}`);
}

function texts(field: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw new TypeError(`${field} must be a list of texts`);
}

function textRecord(field: string, value: unknown): Readonly<Record<string, string>> {
  if (!isObject(value)) throw new TypeError(`${field} must be an object of texts`);
  const wrong = Object.keys(value).find((key) => typeof value[key] !== "string");
  if (wrong !== undefined) throw new TypeError(`${field}.${wrong} must be a text`);
  return value as Readonly<Record<string, string>>;
}

/** A server that is started as a child process, or one that is reached over HTTP. */
export type McpServerConfig = McpCommandConfig | McpUrlConfig;

/** A program that speaks MCP over stdin and stdout. */
export interface McpCommandConfig extends McpServerRules {
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few harmless variables that a server inherits. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: undefined;
}

/** A server that is reached over streamable HTTP. */
interface McpUrlConfig extends McpServerRules {
  readonly url: string | URL;
  /** Sent only to the origin of `url`. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * A bearer token, or a function that returns the current one, which is called before every request.
   * `{ oauth }` gets tokens as the server says: with a client secret for the agent itself, or those of
   * a sign-in in its `store`. They are shared by all callers of the agent.
   */
  readonly auth?:
    | string
    | (() => string | undefined | Promise<string | undefined>)
    | { readonly oauth: OAuthOptions };
  readonly command?: undefined;
}

interface McpServerRules {
  /** Offer only these tools, by their names on the server. Default: all. */
  readonly allow?: readonly string[];
  /** Never offer these tools, even if `allow` lists them. */
  readonly deny?: readonly string[];
  /**
   * Whether calls need approval: one rule for all tools, or one per tool by its name on the server.
   * Default: tools annotated as read-only need no approval, and all others do.
   */
  readonly confirm?: McpConfirm;
  /** How long the server may take to start and list its tools. Default 10 s. */
  readonly startTimeoutMs?: number;
  /** How long one call may take. Default 60 s. */
  readonly callTimeoutMs?: number;
}

type McpConfirm = ConfirmRule | Readonly<Record<string, ConfirmRule>>;

/** Options for all MCP servers of an agent. */
export interface McpOptions {
  readonly logger?: McpLogger;
  /**
   * Used for every HTTP request, including each redirect. Default: a fetch that applies the egress
   * policy, which allows public addresses and those in the configuration.
   */
  readonly fetch?: McpFetch;
  /**
   * A folder in which running servers are recorded, so that servers that survive a crash of this
   * process are ended at the next start. Without it, a server only notices the crash when its stdin
   * closes.
   */
  readonly folder?: string;
  readonly startTimeoutMs?: number;
  readonly callTimeoutMs?: number;
  /** How long a server's question may wait for an answer. Default one hour. */
  readonly answerTimeoutMs?: number;
  /** Maximum length of one result in characters; longer results are cut. Default 1 MB. */
  readonly maxResultSize?: number;
  /** Maximum size of one message from a server in bytes. Default 10 MB. */
  readonly maxMessageBytes?: number;
  /** Maximum number of tools offered per server. Default 128. */
  readonly maxTools?: number;
}

/** The `fetch` used to reach a server. */
export type McpFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Receives the output and the errors of servers. The server's logger can be used. */
export interface McpLogger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}
