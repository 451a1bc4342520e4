import {
  A2AError,
  type Agent,
  type CallOptions,
  type Calls,
  type Connection,
  type ErrorReason,
  ERRORS,
  EXTENSIONS,
  isTerminal,
  type Message,
  RemoteError,
  type SendMessageRequest,
  type Speaking,
  type StreamItem,
  type StreamOptions,
  type Streams,
  type Task,
  type TraceContext,
} from "@convoke/protocol";
import { RemoteAgent } from "@convoke/client/connection";
import { randomUUID } from "node:crypto";
import { LocalHost } from "../loop/local-host.ts";
import type { LocalTask } from "../loop/local-task.ts";
import { localEvents } from "./local-events.ts";

const { approvals, budget, idempotency } = EXTENSIONS;

/** Nobody can go there; it only stands where an address must. */
const NOWHERE = "http://local.invalid/";
const MAX_KEPT = 10_000;

/** An agent of this process that no server serves, as if it were elsewhere: then it is called in no other way. */
export function localRemote(agent: Agent): RemoteAgent {
  return new RemoteAgent(new LocalConnection(agent));
}

/** Speaks to an agent in memory. Its tasks are gone with the process, and so are those of its caller. */
class LocalConnection implements Connection {
  readonly card: Connection["card"];
  readonly speaking: Speaking = { url: NOWHERE, version: "1.0", binding: "JSONRPC" };
  readonly #host: LocalHost;
  /** The task of each message, because a message that comes again is the same. */
  readonly #taskOf = new Map<string, LocalTask>();
  readonly #traces = new Map<string, TraceContext>();

  constructor(agent: Agent) {
    const { name, description, version, skills } = agent.info;
    const extensions = [{ uri: idempotency.uri }];
    const capabilities = { streaming: true, extensions };
    this.card = { name, description, version, skills, capabilities };
    this.#host = new LocalHost(agent, {
      onError: warn,
      extensions: new Set([approvals.uri, budget.uri]),
      traceOf: (taskId) => this.#traces.get(taskId),
    });
  }

  async call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    _options?: CallOptions,
  ): Promise<Calls[Name]["result"]> {
    const result = await inWordsOfClients(() => this.#call(operation, request));
    return result as Calls[Name]["result"];
  }

  async *stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    { signal, context }: StreamOptions = {},
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    if (operation === "subscribeToTask") {
      const local = this.#find((request as Streams["subscribeToTask"]).taskId);
      return yield* localEvents(local, signal);
    }
    const { message } = request as SendMessageRequest;
    const known = this.#taskOf.get(message.messageId);
    if (known !== undefined) return yield* localEvents(known, signal);
    const local = await inWordsOfClients(async () => this.#take(message, context?.trace));
    keep(this.#taskOf, message.messageId, local);
    return yield* localEvents(local, signal);
  }

  close(): void {
    void this.#host.close();
  }

  /** The task that a message begins or answers; it works from here on. */
  #take(message: Message, trace: TraceContext | undefined): LocalTask {
    if (message.taskId !== undefined) {
      const waiting = this.#find(message.taskId);
      this.#host.answer(waiting, message);
      return waiting;
    }
    const { contextId = randomUUID() } = message;
    const taskId = randomUUID();
    if (trace !== undefined) keep(this.#traces, taskId, trace);
    const local = this.#host.create(message, { taskId, contextId });
    this.#host.start(local);
    return local;
  }

  async #call(operation: keyof Calls, request: unknown): Promise<Task> {
    const { taskId } = request as { readonly taskId: string };
    const local = this.#find(taskId);
    if (operation === "getTask") return local.task;
    if (operation !== "cancelTask") {
      throw new A2AError("UnsupportedOperation", `an agent of this process has no ${operation}`);
    }
    if (isTerminal(local.task.status.state)) {
      throw new A2AError("TaskNotCancelable", `task ${taskId} is ${local.task.status.state}`);
    }
    this.#host.cancel(local);
    return local.task;
  }

  #find(taskId: string): LocalTask {
    const local = this.#host.find(taskId);
    if (local === undefined) throw refusal("TaskNotFound", `there is no task ${taskId}`);
    return local;
  }
}

/** The newest of them: what is forgotten is as old as tasks that are forgotten, too. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size > MAX_KEPT) map.delete(oldest);
}

/** What an agent refuses is an answer of it. */
async function inWordsOfClients<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw A2AError.is(error) ? refusal(error.reason, error.detail) : error;
  }
}

function refusal(reason: ErrorReason, text: string): RemoteError {
  return new RemoteError(text, { httpStatus: 400, code: ERRORS[reason].code, reason });
}

function warn(error: unknown, errorId: string): void {
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`a sub-agent failed (error ${errorId}): ${cause}`, "AgentLoopWarning");
}
