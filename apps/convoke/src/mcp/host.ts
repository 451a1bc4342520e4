import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ElicitRequest,
  type InputRequests,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";

/** What a host answered, by the ids of what it was asked; nobody has checked it. */
export type Responses = Readonly<Record<string, unknown>>;

/** Whoever uses the tools, as far as one call knows. */
export interface Host {
  /** It shows forms to a person. */
  readonly fillsForms: boolean;
  /** It opens addresses for a person. */
  readonly opensUrls: boolean;
  /**
   * Asks in the middle of a call, as it was done until the revision of 2025-11-25. Without it a
   * question ends the call, and the host makes it again with the answers (2026-07-28).
   */
  readonly ask?: (requests: InputRequests) => Promise<Responses>;
}

export interface HostFacts {
  readonly server: McpServer;
  readonly era: "legacy" | "modern";
  readonly context: ServerContext;
  readonly note: (message: string) => void;
}

/** What every request says of its host since 2026-07-28. */
type Envelope = { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities };

/** A person may think for as long as they like; the host can cancel. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

export function hostOf({ server, era, context, note }: HostFacts): Host {
  const { mcpReq } = context;
  const isOld = era === "legacy";
  const capabilities = isOld
    ? server.server.getClientCapabilities()
    : (mcpReq.envelope as Envelope | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const { elicitation } = capabilities ?? {};
  return {
    // Before there were two modes, nothing in it meant forms.
    fillsForms:
      elicitation !== undefined &&
      (elicitation.form !== undefined || elicitation.url === undefined),
    opensUrls: elicitation?.url !== undefined,
    ...(isOld && { ask: (requests) => askInCall(requests, mcpReq, note) }),
  };
}

/** One after the other: a person reads one question at a time. */
async function askInCall(
  requests: InputRequests,
  { send, signal }: ServerContext["mcpReq"],
  note: HostFacts["note"],
): Promise<Responses> {
  const responses: Record<string, unknown> = {};
  for (const [id, request] of Object.entries(requests)) {
    const { method, params } = request as ElicitRequest;
    const named = params.mode === "url" ? { ...params, elicitationId: randomUUID() } : params;
    try {
      responses[id] = await send({ method, params: named }, { signal, timeout: NO_TIMEOUT_MS });
    } catch (error) {
      signal.throwIfAborted();
      // The question stays open, and the result of the call says how else to answer it.
      note(`The host could not ask: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return responses;
}

/**
 * The calls of a host that have no result yet, and the tasks whose questions it
 * was given to ask. When the host goes, nobody waits for them any more.
 */
export class OpenCalls {
  readonly #calls = new Set<Promise<unknown>>();
  readonly #asked = new Set<string>();

  /** Waits for the call as well, when all are ended. */
  async track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** The host has a question of this task, and will call again with the answer. */
  asked(taskId: string): void {
    this.#asked.add(taskId);
  }

  answered(taskId: string): void {
    this.#asked.delete(taskId);
  }

  /** Cancels the tasks that were asked about, and resolves when every call is over, or it took too long. */
  async end(cancel: (taskId: string) => Promise<unknown>, patienceMs: number): Promise<void> {
    const canceled = [...this.#asked].map(cancel);
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, patienceMs);
    await Promise.race([Promise.allSettled([...this.#calls, ...canceled]), enough]);
    clearTimeout(timer);
  }
}
