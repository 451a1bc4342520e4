import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ElicitRequest,
  type InputRequests,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";

/** The responses of a host by request id, not validated. */
export type Responses = Readonly<Record<string, unknown>>;

/** What one call knows about the host. */
export interface Host {
  /** It can show forms to the user. */
  readonly fillsForms: boolean;
  /** It can open URLs for the user. */
  readonly opensUrls: boolean;
  /**
   * Asks during a call, as in MCP up to revision 2025-11-25. Without it a question ends the call,
   * and the host repeats the call with the answers (2026-07-28).
   */
  readonly ask?: (requests: InputRequests) => Promise<Responses>;
}

export interface HostOptions {
  readonly server: McpServer;
  readonly era: "legacy" | "modern";
  readonly context: ServerContext;
  readonly note: (message: string) => void;
}

/** Since 2026-07-28 every request carries the capabilities of its host. */
type Envelope = { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities };

export function toHost({ server, era, context, note }: HostOptions): Host {
  const { mcpReq } = context;
  const isOld = era === "legacy";
  const capabilities = isOld
    ? server.server.getClientCapabilities()
    : (mcpReq.envelope as Envelope | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const { elicitation } = capabilities ?? {};
  return {
    // Before there were two modes, an empty object meant forms.
    fillsForms:
      elicitation !== undefined &&
      (elicitation.form !== undefined || elicitation.url === undefined),
    opensUrls: elicitation?.url !== undefined,
    ...(isOld && { ask: (requests) => askInCall(requests, mcpReq, note) }),
  };
}

/** The user may take any time to answer; the host can cancel. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** Asks one question after the other, because a user reads one at a time. */
async function askInCall(
  requests: InputRequests,
  { send, signal }: ServerContext["mcpReq"],
  note: HostOptions["note"],
): Promise<Responses> {
  const responses: Record<string, unknown> = {};
  for (const [id, request] of Object.entries(requests)) {
    const { method, params } = request as ElicitRequest;
    const named = params.mode === "url" ? { ...params, elicitationId: randomUUID() } : params;
    try {
      responses[id] = await send({ method, params: named }, { signal, timeout: NO_TIMEOUT_MS });
    } catch (error) {
      signal.throwIfAborted();
      // The question stays open; the result of the call says how else to answer it.
      note(`The host could not ask: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return responses;
}

/**
 * The calls of a host that have no result yet, and the tasks whose questions it is asking. When the
 * host disconnects, all of them are canceled.
 */
export class OpenCalls {
  readonly #calls = new Set<Promise<unknown>>();
  readonly #asked = new Set<string>();

  /** Adds a call to those that `end` waits for. */
  async track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** The host is asking a question of this task and will call again with the answer. */
  asked(taskId: string): void {
    this.#asked.add(taskId);
  }

  answered(taskId: string): void {
    this.#asked.delete(taskId);
  }

  /** Cancels the tasks with open questions. Resolves when all calls are over, or after the timeout. */
  async end(cancel: (taskId: string) => Promise<unknown>, timeoutMs: number): Promise<void> {
    const canceled = [...this.#asked].map(cancel);
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    await Promise.race([Promise.allSettled([...this.#calls, ...canceled]), enough]);
    clearTimeout(timer);
  }
}
