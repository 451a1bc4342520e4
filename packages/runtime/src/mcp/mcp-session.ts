import type { TraceHeaders } from "@convoke/protocol";
import { MAX_TIMER_MS, orAborted } from "@convoke/protocol/internal";
import {
  type CallToolResult,
  type Client,
  type ElicitRequestParams,
  type ElicitResult,
  type Prompt,
  type PromptMessage,
  type ReadResourceResult,
  type Resource,
  type Tool as ServerTool,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { setImmediate } from "node:timers/promises";
import type { ChildRecords } from "../processes/child-records.ts";
import { ChildTransport } from "./child-transport.ts";
import { createClient, translateError } from "./mcp-client.ts";
import { McpError } from "./mcp-error.ts";
import type { McpFetch, McpServerSettings, McpSettings } from "./mcp-settings.ts";
import { createEgress, createEgressFetch } from "@convoke/egress";
import { serverFetch } from "./server-fetch.ts";
import type { ServerTokens } from "./server-tokens.ts";

export interface McpSessionOptions {
  readonly server: McpServerSettings;
  readonly settings: McpSettings;
  readonly records: ChildRecords | undefined;
  /** Of a server over HTTP. */
  readonly tokens: ServerTokens | undefined;
  readonly onElicit: (params: ElicitRequestParams, signal: AbortSignal) => Promise<ElicitResult>;
  /** Called when the server's list of tools has changed. */
  readonly onTools: (session: McpSession) => void;
  /**
   * Registers background work, such as waiting for a process to exit, so that closing can wait for
   * it.
   */
  readonly track: (work: Promise<void>) => void;
  /** Called when the connection ends without having been closed by us. */
  readonly onLost: (session: McpSession, error: McpError) => void;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  /** Sent in `_meta` of the request, where MCP reserves these names for it. */
  readonly trace: TraceHeaders;
  readonly onProgress: (progress: {
    readonly progress: number;
    readonly total?: number | undefined;
    readonly message?: string | undefined;
  }) => void;
}

/** One connection to a server, from the handshake until it closes. */
export class McpSession {
  readonly #options: McpSessionOptions;
  readonly #client: Client;
  readonly #transport: Transport;
  #tools: readonly ServerTool[] = [];
  #isOver = false;
  #lost: McpError | undefined;

  private constructor(options: McpSessionOptions, isNew: boolean) {
    this.#options = options;
    this.#client = createClient(isNew, () => void this.#relist());
    this.#client.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) =>
      options.onElicit(params, mcpReq.signal),
    );
    this.#client.onclose = () => this.#end(new McpError("gone", "the connection to it ended"));
    this.#client.onerror = (error) =>
      options.settings.logger.debug("trouble with an MCP server", {
        server: options.server.name,
        error,
      });
    this.#transport = createTransport(options, (error) => this.#end(error));
  }

  /** Connects and lists the tools, within the server's start timeout. */
  static async open(options: McpSessionOptions, closing: AbortSignal): Promise<McpSession> {
    const { startTimeoutMs } = options.server;
    const timeout = AbortSignal.timeout(startTimeoutMs);
    const signal = AbortSignal.any([closing, timeout]);
    try {
      return await McpSession.#openEither(options, signal);
    } catch (error) {
      if (closing.aborted) throw new McpError("stopped", "it was closed", { cause: error });
      if (!timeout.aborted) throw error;
      const message = `it did not answer within ${startTimeoutMs / 1000} s`;
      throw new McpError("unanswered", message, { cause: error });
    }
  }

  /**
   * Connects with the `initialize` handshake, which most servers support. A server that answers it
   * with an error may only support the newer protocol, so that is tried next.
   */
  static async #openEither(options: McpSessionOptions, signal: AbortSignal): Promise<McpSession> {
    try {
      return await McpSession.#openWith(options, false, signal);
    } catch (error) {
      if (!(error instanceof McpError) || error.kind !== "refused") throw error;
      try {
        return await McpSession.#openWith(options, true, signal);
      } catch {
        throw error;
      }
    }
  }

  static async #openWith(
    options: McpSessionOptions,
    isNew: boolean,
    signal: AbortSignal,
  ): Promise<McpSession> {
    const session = new McpSession(options, isNew);
    try {
      const timeout = options.server.startTimeoutMs;
      const connected = session.#client.connect(session.#transport, { signal, timeout });
      await orAborted(connected, signal);
      await session.#list(signal);
      return session;
    } catch (error) {
      const problem = session.#explain(error);
      options.track(session.close());
      throw problem;
    }
  }

  get tools(): readonly ServerTool[] {
    return this.#tools;
  }

  async call(
    name: string,
    input: Readonly<Record<string, unknown>>,
    { signal, trace, onProgress }: CallOptions,
  ): Promise<CallToolResult> {
    // The caller's signal limits the call. Without this, the client would apply its own one-minute
    // timeout.
    return this.#translated(
      this.#client.callTool(
        { name, arguments: input, _meta: { ...trace } },
        { signal, timeout: MAX_TIMER_MS, onprogress: onProgress },
      ),
    );
  }

  async resources(signal?: AbortSignal): Promise<readonly Resource[]> {
    if (this.#client.getServerCapabilities()?.resources === undefined) return [];
    const { resources } = await this.#translated(
      this.#client.listResources(undefined, this.#request(signal)),
    );
    return resources;
  }

  readResource(uri: string, signal?: AbortSignal): Promise<ReadResourceResult> {
    return this.#translated(this.#client.readResource({ uri }, this.#request(signal)));
  }

  async prompts(signal?: AbortSignal): Promise<readonly Prompt[]> {
    if (this.#client.getServerCapabilities()?.prompts === undefined) return [];
    const { prompts } = await this.#translated(
      this.#client.listPrompts(undefined, this.#request(signal)),
    );
    return prompts;
  }

  async prompt(
    name: string,
    input: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<readonly PromptMessage[]> {
    const { messages } = await this.#translated(
      this.#client.getPrompt({ name, arguments: input }, this.#request(signal)),
    );
    return messages;
  }

  /** Resolves when the connection is closed and the process, if any, has exited. */
  async close(): Promise<void> {
    this.#isOver = true;
    try {
      if (this.#transport instanceof StreamableHTTPClientTransport && this.#lost === undefined) {
        // Ending the session is a courtesy, so an unresponsive server must not delay us.
        await orAborted(this.#transport.terminateSession(), AbortSignal.timeout(1000));
      }
    } catch {
      // The server will expire the session by itself.
    }
    // The client closes its transport only while it is connected, so close both.
    await Promise.allSettled([this.#client.close(), this.#transport.close()]);
  }

  #request(signal: AbortSignal | undefined): {
    readonly signal?: AbortSignal;
    readonly timeout: number;
  } {
    return { ...(signal && { signal }), timeout: this.#options.server.callTimeoutMs };
  }

  async #list(signal: AbortSignal): Promise<void> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return;
    const options = { signal, timeout: this.#options.server.startTimeoutMs };
    const { tools } = await this.#client.listTools(undefined, { ...options, cacheMode: "refresh" });
    this.#tools = tools;
  }

  /** Lists the tools again. If that fails, the known tools are kept. */
  async #relist(): Promise<void> {
    try {
      await this.#list(AbortSignal.timeout(this.#options.server.startTimeoutMs));
      if (!this.#isOver) this.#options.onTools(this);
    } catch (error) {
      if (this.#isOver) return;
      const { name } = this.#options.server;
      this.#options.settings.logger.warn("an MCP server did not list its new tools", {
        server: name,
        error,
      });
    }
  }

  async #translated<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /**
   * Replaces an error caused by the end of the connection with the reason why it ended. The kind
   * stays "gone" even if the server could not be reached afterwards, because it may already have
   * processed the request.
   */
  #explain(error: unknown): McpError {
    const problem = translateError(error);
    if (problem.kind !== "gone") return problem;
    return this.#lost === undefined
      ? this.#how(problem)
      : new McpError("gone", this.#lost.message, { cause: this.#lost });
  }

  #how(error: McpError): McpError {
    if (error.kind !== "gone" || !(this.#transport instanceof ChildTransport)) return error;
    return this.#transport.end ?? error;
  }

  #end(error: McpError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#lost = this.#how(error);
    this.#options.onLost(this, this.#lost);
    this.#options.track(this.#closeSoon());
  }

  /**
   * Closes the connection and rejects the pending requests. It waits first, so that the request
   * that detected the loss fails with its own error: that one may know that the server did nothing.
   */
  async #closeSoon(): Promise<void> {
    await setImmediate();
    await this.close();
  }
}

interface TransportOptions {
  readonly server: McpServerSettings;
  readonly settings: McpSettings;
  readonly records: ChildRecords | undefined;
  readonly tokens: ServerTokens | undefined;
}

/**
 * An interrupted stream is resumed as long as the server can be reached. Otherwise the session ends
 * and a new one is opened.
 */
const STREAM_RETRIES = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 1000,
};

/**
 * Creates the transport to a server. `onLost` is called when an HTTP server is gone; a child
 * process signals that by exiting.
 */
function createTransport(
  { server, settings, records, tokens }: TransportOptions,
  onLost: (error: McpError) => void,
): Transport {
  const { maxMessageBytes, logger, fetch } = settings;
  const { target, name } = server;
  if (target.kind === "command") {
    const print = (line: string): void =>
      logger.debug("an MCP server says", { server: name, line });
    return new ChildTransport(target, { records, maxMessageBytes, print });
  }
  return new StreamableHTTPClientTransport(target.url, {
    fetch: serverFetch(target, {
      fetch: fetch ?? wayTo(target.url),
      maxMessageBytes,
      // A connection over HTTP always has them.
      tokens: tokens!,
      onLost,
    }),
    reconnectionOptions: STREAM_RETRIES,
  });
}

/**
 * The operator configured this address, so it may be private. Any other address that the server
 * names must be public.
 */
function wayTo(url: URL): McpFetch {
  return createEgressFetch(createEgress({ trusted: [url.href] }));
}
