import {
  A2AError,
  type Caller,
  type Calls,
  type Connection,
  RemoteError,
  type RequestContext,
  type StreamItem,
  type StreamOptions,
  type Streams,
  buildCard,
  isPublic,
} from "@convoke/protocol";
import { randomBytes } from "node:crypto";
import { newErrorId } from "./logging/error-id.ts";
import type { LogEntry } from "./log/log-entry.ts";
import type { Call } from "./operations/call.ts";
import { cancelTask } from "./operations/cancel-task.ts";
import { declaredExtensions } from "./operations/declared-extensions.ts";
import type { EventSource } from "./operations/event-source.ts";
import { getTask } from "./operations/get-task.ts";
import { listTasks } from "./operations/list-tasks.ts";
import { followLog } from "./operations/log-reader.ts";
import {
  createPushConfig,
  deletePushConfig,
  getPushConfig,
  listPushConfigs,
} from "./operations/push-configs.ts";
import { sendMessage } from "./operations/send-message.ts";
import { sendStreamingMessage } from "./operations/send-streaming-message.ts";
import { subscribeToTask } from "./operations/subscribe-to-task.ts";
import type { Engine } from "./run/engine.ts";

/** Shown where an address must be; nothing connects to it. */
const URL_IN_PROCESS = "in-process:";

type PerformCall = {
  readonly [Name in keyof Calls]: (
    request: Calls[Name]["request"],
    call: Call,
  ) => Promise<Calls[Name]["result"]>;
};

const CALLS: PerformCall = {
  sendMessage,
  getTask,
  listTasks,
  cancelTask,
  createPushConfig,
  getPushConfig,
  listPushConfigs,
  deletePushConfig,
  getExtendedCard: () =>
    Promise.reject(
      new A2AError(
        "ExtendedAgentCardNotConfigured",
        "an agent in this process has no extended card",
      ),
    ),
};

/**
 * Joins a client to an engine without a socket: the same operations, on behalf of one caller, with
 * nothing encoded in between. Extensions are active if the request names them and the agent
 * declares them, as they are over a wire.
 */
export function createInProcessConnection(engine: Engine, caller: Caller): Connection {
  const callWith = (context: RequestContext | undefined, lastEventId?: string): Call => {
    const declared = new Set(declaredExtensions(engine.agent.info).map(({ uri }) => uri));
    return {
      engine,
      caller,
      version: "1.0",
      trace: context?.trace && { ...context.trace, spanId: randomBytes(8).toString("hex") },
      extensions: new Set(context?.extensions?.filter((uri) => declared.has(uri))),
      lastEventId,
    };
  };
  return {
    get card() {
      return cardOf(engine);
    },
    speaking: { url: URL_IN_PROCESS, version: "1.0", binding: "JSONRPC" },
    call(operation, request, { context, signal } = {}) {
      signal?.throwIfAborted();
      return explained(engine, () => CALLS[operation](request, callWith(context)));
    },
    async *stream(operation, request, options = {}) {
      const call = callWith(options.context, options.lastEventId);
      const source = await explained(engine, () => open(operation, request, call));
      yield* read(source, options);
    },
    close: () => undefined,
  };
}

function cardOf({ agent: { info }, streams }: Engine): Connection["card"] {
  const capabilities = {
    streaming: streams,
    pushNotifications: false,
    extensions: declaredExtensions(info),
  };
  return buildCard(
    { info, interfaces: [], capabilities, bearer: false },
    "1.0",
  ) as Connection["card"];
}

function open<Name extends keyof Streams>(
  operation: Name,
  request: Streams[Name],
  call: Call,
): Promise<EventSource> {
  return operation === "subscribeToTask"
    ? subscribeToTask(request as Streams["subscribeToTask"], call)
    : sendStreamingMessage(request as Streams["sendStreamingMessage"], call);
}

async function* read(
  source: EventSource,
  { signal }: StreamOptions,
): AsyncGenerator<readonly StreamItem[], void, undefined> {
  for await (const entries of followLog(source, signal)) yield* items(entries);
}

function* items(entries: readonly LogEntry[]): Generator<readonly StreamItem[]> {
  const shown = entries.flatMap(({ event, seq }): readonly StreamItem[] =>
    isPublic(event) ? [{ kind: "event", event, id: String(seq) }] : [],
  );
  if (shown.length > 0) yield shown;
}

/** What an operation refuses becomes what a client gets from any agent; unknown errors keep their text here. */
async function explained<T>(engine: Engine, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw remoteError(A2AError.is(thrown) ? thrown : hidden(engine, thrown));
  }
}

function hidden({ logger }: Engine, thrown: unknown): A2AError {
  const errorId = newErrorId();
  logger.error("a request failed", { errorId, error: thrown });
  return A2AError.from(thrown, errorId);
}

function remoteError({ reason, message, row }: A2AError): RemoteError {
  return new RemoteError(message, { httpStatus: row.http, code: row.code, reason });
}
