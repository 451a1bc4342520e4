import {
  A2AError,
  type Caller,
  type Calls,
  type Connection,
  EXTENSIONS,
  RemoteError,
  type RequestContext,
  type Streams,
  type TraceContext,
  buildCard,
} from "@convoke/protocol";
import { randomBytes } from "node:crypto";
import { isStorageFailure, unavailable } from "./log/storage-failure.ts";
import { newErrorId } from "./logging/logger.ts";
import { type Call, declaredExtensions } from "./operations/call.ts";
import { cancelTask } from "./operations/cancel-task.ts";
import { type EventStreamSource, readEvents } from "./operations/event-source.ts";
import { getTask } from "./operations/get-task.ts";
import { listTasks } from "./operations/list-tasks.ts";
import {
  createPushConfig,
  deletePushConfig,
  getPushConfig,
  listPushConfigs,
} from "./operations/push-configs.ts";
import { sendMessage } from "./operations/send-message.ts";
import { sendStreamingMessage } from "./operations/send-streaming-message.ts";
import { subscribeToTask } from "./operations/subscribe-to-task.ts";
import type { ServedAgent } from "./run/agents.ts";
import type { Engine } from "./run/engine.ts";
import { isTracing } from "./tracing/opentelemetry.ts";

type CallOperations = {
  readonly [Name in keyof Calls]: (
    request: Calls[Name]["request"],
    call: Call,
  ) => Promise<Calls[Name]["result"]>;
};

const CALLS: CallOperations = {
  sendMessage,
  getTask,
  listTasks,
  cancelTask,
  createPushConfig,
  getPushConfig,
  listPushConfigs,
  deletePushConfig,
  getExtendedCard() {
    const problem = "an agent in this process has no extended card";
    return Promise.reject(new A2AError("ExtendedAgentCardNotConfigured", problem));
  },
};

type StreamOperations = {
  readonly [Name in keyof Streams]: (
    request: Streams[Name],
    call: Call,
  ) => Promise<EventStreamSource>;
};

const STREAMS: StreamOperations = { sendStreamingMessage, subscribeToTask };

/**
 * Connects a client to an engine in the same process. It performs the same
 * operations as a server, on behalf of one caller, without encoding anything.
 *
 * @param agent the agent to connect to; by default the first one of the engine
 */
export function createInProcessConnection(
  engine: Engine,
  caller: Caller,
  agent: ServedAgent = engine.agents.first,
): Connection {
  const toCall = (context: RequestContext | undefined, lastEventId?: string): Call => {
    const declared = new Set(declaredExtensions(agent.info).map(({ uri }) => uri));
    return {
      engine,
      agent,
      caller,
      version: "1.0",
      trace: context?.trace && calledTrace(context.trace),
      // As with the client of a remote agent, a repeated message is a retry.
      extensions: new Set(
        [EXTENSIONS.idempotency.uri, ...(context?.extensions ?? [])].filter((uri) =>
          declared.has(uri),
        ),
      ),
      lastEventId,
      files: { isLocal: true },
    };
  };
  return {
    get card() {
      return createCard(engine, agent);
    },
    // The connection type requires a URL; nothing connects to this one.
    selectedInterface: { url: "in-process:", version: "1.0", binding: "JSONRPC" },
    deduplicates: true,
    async call(operation, request, { context, signal } = {}) {
      signal?.throwIfAborted();
      try {
        return await CALLS[operation](request, toCall(context));
      } catch (thrown) {
        throw toRemoteError(engine, thrown);
      }
    },
    async *stream(operation, request, { context, lastEventId, signal } = {}) {
      const call = toCall(context, lastEventId);
      try {
        yield* readEvents(await STREAMS[operation](request, call), signal);
      } catch (thrown) {
        signal?.throwIfAborted();
        throw toRemoteError(engine, thrown);
      }
    },
    close: () => undefined,
  };
}

/** With an OpenTelemetry SDK, the span of the caller is a real one, and the run becomes its child. */
function calledTrace(trace: TraceContext): TraceContext {
  return isTracing() ? trace : { ...trace, spanId: randomBytes(8).toString("hex") };
}

function createCard({ streams }: Engine, { info }: ServedAgent): Connection["card"] {
  const extensions = declaredExtensions(info);
  const capabilities = { streaming: streams, pushNotifications: false, extensions };
  const facts = { info, interfaces: [], capabilities };
  return buildCard(facts, "1.0") as Connection["card"];
}

/** What a client would get from a remote agent. The text of unknown errors is only logged. */
function toRemoteError(engine: Engine, thrown: unknown): RemoteError {
  const { reason, message, row } = A2AError.is(thrown) ? thrown : hideError(engine, thrown);
  return new RemoteError(message, { httpStatus: row.http, code: row.code, reason });
}

function hideError({ logger, storage }: Engine, thrown: unknown): A2AError {
  if (isStorageFailure(thrown) && !thrown.isPermanent) {
    storage.failed(thrown);
    return unavailable("try again later", thrown);
  }
  const errorId = newErrorId();
  logger.error("a request failed", { errorId, error: thrown });
  return A2AError.from(thrown, errorId);
}
