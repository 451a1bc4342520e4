import type {
  ElicitRequestParams,
  ElicitResult,
  Tool as ServerTool,
} from "@modelcontextprotocol/client";
import { AsyncLocalStorage } from "node:async_hooks";
import type { ChildRecords } from "../processes/child-records.ts";
import { McpError } from "./mcp-error.ts";
import type { McpSession } from "./mcp-session.ts";
import type { McpServerSettings, McpSettings } from "./mcp-settings.ts";
import { ServerTokens } from "./server-tokens.ts";

export interface McpConnectionOptions {
  readonly server: McpServerSettings;
  readonly settings: McpSettings;
  readonly records: ChildRecords | undefined;
  readonly onElicit: (params: ElicitRequestParams, signal: AbortSignal) => Promise<ElicitResult>;
  /** Called with the current tools of the server. */
  readonly onTools: (tools: readonly ServerTool[]) => void;
}

/** The state of a connection. A server that has not been needed yet is `disconnected`. */
export type McpStatus = "connecting" | "connected" | "failed" | "disconnected";

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
/** A server that ran at least this long did not fail at startup, so the backoff starts over. */
const STEADY_MS = 30_000;

/**
 * Keeps one server connected from its first use on. If it fails or the connection is lost, it
 * reconnects in the background with increasing delays, and immediately when a call needs it.
 */
export class McpConnection {
  readonly #options: McpConnectionOptions;
  readonly #closing = new AbortController();
  /**
   * A connection outlives the call that first needed it, so it must not run in that call's async
   * context.
   */
  readonly #outside = AsyncLocalStorage.snapshot();
  readonly #work = new Set<Promise<void>>();
  readonly #tokens: ServerTokens | undefined;
  #session: McpSession | undefined;
  #attempt: Promise<McpSession> | undefined;
  #error: McpError | undefined;
  /** Number of failed attempts since the last successful one. */
  #failures = 0;
  /** Number of failures since the last steady connection. Determines the retry delay. */
  #troubles = 0;
  #connectedAt = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: McpConnectionOptions) {
    this.#options = options;
    const { target } = options.server;
    if (target.kind === "url") this.#tokens = new ServerTokens(target, options.settings.fetch);
  }

  get status(): McpStatus {
    if (this.#session !== undefined) return "connected";
    if (this.#failures > 0) return "failed";
    return this.#attempt === undefined ? "disconnected" : "connecting";
  }

  /** Why the server is not connected, if it should be. */
  get error(): McpError | undefined {
    return this.#session === undefined ? this.#error : undefined;
  }

  /**
   * Resolves when it is known whether the server can be used now. Does not wait for a server that
   * has failed: it is retried in the background, and the turn continues without it.
   */
  async settled(): Promise<void> {
    if (this.#session !== undefined || this.#failures > 0 || this.#closing.signal.aborted) return;
    await this.ready().catch(() => undefined);
  }

  /** Returns the session, connecting first if necessary. Makes only one attempt. */
  async ready(): Promise<McpSession> {
    if (this.#closing.signal.aborted) throw new McpError("stopped", "it was closed");
    if (this.#session !== undefined) return this.#session;
    this.#attempt ??= this.#outside(() => this.#connect()).finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  /** Resolves when the connection is closed and the process, if any, has exited. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#retry);
    await this.#attempt?.catch(() => undefined);
    const session = this.#session;
    this.#session = undefined;
    this.#error = undefined;
    this.#failures = 0;
    await session?.close();
    await Promise.all(this.#work);
  }

  async #connect(): Promise<McpSession> {
    clearTimeout(this.#retry);
    const { server, settings, records, onElicit, onTools } = this.#options;
    try {
      // Imported with the first server, because the MCP client is slow to load.
      const { McpSession: Session } = await import("./mcp-session.ts");
      const session = await Session.open(
        {
          server,
          settings,
          records,
          tokens: this.#tokens,
          onElicit,
          onTools: (changed) => {
            if (changed === this.#session) onTools(changed.tools);
          },
          onLost: (lost, error) => this.#lose(lost, error),
          track: (work) => this.#track(work),
        },
        this.#closing.signal,
      );
      onTools(session.tools);
      this.#session = session;
      this.#failures = 0;
      this.#connectedAt = performance.now();
      return session;
    } catch (error) {
      this.#failures += 1;
      this.#fail(error instanceof McpError ? error : unexpected(error));
      throw this.#error;
    }
  }

  #lose(session: McpSession, error: McpError): void {
    if (session !== this.#session) return;
    this.#session = undefined;
    if (performance.now() - this.#connectedAt > STEADY_MS) this.#troubles = 0;
    this.#fail(error);
  }

  #fail(error: McpError): void {
    this.#error = error;
    if (this.#closing.signal.aborted) return;
    const { server, settings } = this.#options;
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#troubles);
    this.#troubles += 1;
    settings.logger.warn("an MCP server is not connected", { server: server.name, waitMs, error });
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.ready().catch(() => undefined), waitMs).unref();
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch(() => undefined)
      .finally(() => {
        this.#work.delete(tracked);
      });
    this.#work.add(tracked);
  }
}

function unexpected(cause: unknown): McpError {
  return new McpError("unreadable", "it could not be used", { cause });
}
