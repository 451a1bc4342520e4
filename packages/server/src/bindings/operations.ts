import {
  A2AError,
  type Caller,
  type Codec,
  EXTENSIONS,
  type Metadata,
  type OperationName,
  type SendMessageRequest,
  type Streams,
  resumptionCursor,
} from "@convoke/protocol";
import {
  type Call,
  type EventStreamSource,
  cancelTaskOperation as cancelTask,
  createPushConfig,
  deletePushConfig,
  getExtendedCard,
  getPushConfig,
  getTask,
  listPushConfigs,
  listTasks,
  requirePush,
  sendMessage,
  sendStreamingMessage,
  subscribeToTask,
} from "@convoke/engine";
import { isObject } from "@convoke/protocol/internal";
import { type HttpRequest, requestTrace } from "../http/exchange.ts";
import type { App } from "./app.ts";
import type { Activation } from "./extensions.ts";
import {
  type Interceptor,
  type OperationContext,
  type Operations,
  type ServerCalls,
  callFor,
  createContext,
  intercept,
} from "./interceptors.ts";

/** A request whose operation, version and caller are known. */
export interface OperationRequest {
  readonly operation: OperationName;
  readonly params: unknown;
  readonly codec: Codec;
  readonly caller: Caller;
  readonly activation: Activation;
  readonly request: HttpRequest;
  readonly lastEventId: string | undefined;
  readonly newTask?: Call["newTask"];
}

/** The result of an operation: a value encoded for the protocol version, or a stream of events. */
export type Outcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "events"; readonly source: EventStreamSource };

/** Performs an operation: decodes the request, and encodes the result. All bindings use it. */
export async function performOperation(app: App, given: OperationRequest): Promise<Outcome> {
  const { operation, codec, caller, activation, request, lastEventId, newTask } = given;
  const call: Call = {
    engine: app.engine,
    agent: app.agent,
    extendedCard: app.extendedCardFor(request),
    caller,
    version: codec.version,
    extensions: activation.extensions,
    trace: requestTrace(request),
    files: app.fileView(request),
    lastEventId,
    newTask,
  };
  return isStream(operation)
    ? { kind: "events", source: await openStream(app, operation, { given, call }) }
    : { kind: "value", value: await performCall(app, operation, { given, call }) };
}

/** Throws if the agent does not support the operation or its parameters are invalid. Performs nothing. */
export function checkOperation(app: App, operation: OperationName, given: UncheckedRequest): void {
  const { params, codec } = given;
  if (isStream(operation)) {
    checkStreaming(app);
    STREAMS[operation].decode(params, codec, app);
    return;
  }
  const { check, decode } = CALLS[operation];
  check?.(app);
  decode(params, codec, app);
}

/** The parameters of a request, as the client sent them. */
interface UncheckedRequest {
  readonly params: unknown;
  readonly codec: Codec;
}

/** The operations with all interceptors applied; `undefined` if there are none. */
export function createOperations(interceptors: readonly Interceptor[]): Operations | undefined {
  return interceptors.length === 0 ? undefined : intercept(BASE, interceptors);
}

interface BoundRequest {
  readonly given: OperationRequest;
  readonly call: Call;
}

async function performCall<Name extends keyof ServerCalls>(
  app: App,
  operation: Name,
  { given, call }: BoundRequest,
): Promise<unknown> {
  const { operations, authorization } = app;
  const { params, codec } = given;
  const row: CallRow<Name> = CALLS[operation];
  row.check?.(call);
  const decoded = row.decode(params, codec, app);
  if (authorization.isLimited) await authorization.check(call.caller, operation, decoded);
  const result =
    operations === undefined
      ? await row.perform(decoded, call)
      : await operations.call(operation, decoded, contextFor(given, call));
  return row.encode(result, codec, decoded);
}

async function openStream<Name extends keyof Streams>(
  app: App,
  operation: Name,
  { given, call }: BoundRequest,
): Promise<EventStreamSource> {
  const { operations, authorization } = app;
  checkStreaming(call);
  const { params, codec } = given;
  const row: StreamRow<Name> = STREAMS[operation];
  const decoded = row.decode(params, codec, app);
  if (authorization.isLimited) await authorization.check(call.caller, operation, decoded);
  const resumed = withCursor(params, call);
  if (operations === undefined) return row.perform(decoded, resumed);
  return operations.stream(operation, decoded, contextFor(given, resumed));
}

function contextFor({ request, activation }: OperationRequest, call: Call): OperationContext {
  return createContext(call, request.headers, activation.added ?? new Headers());
}

/**
 * Clients of A2A 0.3 exist that name the role of the agent in every message that they send to one. The
 * sender is the caller, so outside strict mode the message is stored as theirs.
 */
function decodeSend(params: unknown, codec: Codec, app: App): SendMessageRequest {
  const request = codec.decodeSendMessage(params);
  const { message } = request;
  if (message.role !== "agent" || codec.version !== "0.3" || app.isStrict) return request;
  app.noticeAgentRole();
  return { ...request, message: { ...message, role: "user" } };
}

interface CallRow<Name extends keyof ServerCalls> {
  /** Throws if this agent does not support the operation, before the request is decoded. */
  readonly check?: (call: Pick<Call, "engine">) => unknown;
  readonly decode: (params: unknown, codec: Codec, app: App) => ServerCalls[Name]["request"];
  readonly perform: (
    request: ServerCalls[Name]["request"],
    call: Call,
  ) => Promise<ServerCalls[Name]["result"]>;
  readonly encode: (
    result: ServerCalls[Name]["result"],
    codec: Codec,
    request: ServerCalls[Name]["request"],
  ) => unknown;
}

const CALLS: { readonly [Name in keyof ServerCalls]: CallRow<Name> } = {
  sendMessage: {
    decode: decodeSend,
    perform: sendMessage,
    encode: (result, codec) => codec.encodeSendResult(result),
  },
  getTask: {
    decode: (params, codec) => codec.decodeGetTask(params),
    perform: getTask,
    encode: (task, codec) => codec.encodeTask(task),
  },
  listTasks: {
    decode: (params, codec) => codec.decodeListTasks(params),
    perform: listTasks,
    encode: (page, codec, { includeArtifacts }) => codec.encodeTaskPage(page, includeArtifacts),
  },
  cancelTask: {
    decode: (params, codec) => codec.decodeCancelTask(params),
    perform: cancelTask,
    encode: (task, codec) => codec.encodeTask(task),
  },
  createPushConfig: {
    check: requirePush,
    decode: (params, codec) => codec.decodeCreatePushConfig(params),
    perform: createPushConfig,
    encode: (config, codec) => codec.encodePushConfig(config),
  },
  getPushConfig: {
    check: requirePush,
    decode: (params, codec) => codec.decodeGetPushConfig(params),
    perform: getPushConfig,
    encode: (config, codec) => codec.encodePushConfig(config),
  },
  listPushConfigs: {
    check: requirePush,
    decode: (params, codec) => codec.decodeListPushConfigs(params),
    perform: listPushConfigs,
    encode: (page, codec) => codec.encodePushConfigPage(page),
  },
  deletePushConfig: {
    check: requirePush,
    decode: (params, codec) => codec.decodeDeletePushConfig(params),
    perform: deletePushConfig,
    encode: (_, codec) => codec.encodeDeleted(),
  },
  getExtendedCard: {
    decode: () => undefined,
    perform: getExtendedCard,
    encode: (facts, codec) => codec.encodeCard(facts),
  },
};

interface StreamRow<Name extends keyof Streams> {
  readonly decode: (params: unknown, codec: Codec, app: App) => Streams[Name];
  readonly perform: (request: Streams[Name], call: Call) => Promise<EventStreamSource>;
}

const STREAMS: { readonly [Name in keyof Streams]: StreamRow<Name> } = {
  sendStreamingMessage: {
    decode: decodeSend,
    perform: sendStreamingMessage,
  },
  subscribeToTask: {
    decode: (params, codec) => codec.decodeSubscribe(params),
    perform: subscribeToTask,
  },
};

const BASE: Operations = {
  call: (operation, request, context) => CALLS[operation].perform(request, callFor(context)),
  stream: (operation, request, context) => STREAMS[operation].perform(request, callFor(context)),
};

function isStream(operation: OperationName): operation is keyof Streams {
  return operation === "sendStreamingMessage" || operation === "subscribeToTask";
}

/** 1.0 §3.3.4: a capability that the card does not declare is rejected. */
function checkStreaming({ engine }: Pick<Call, "engine">): void {
  if (engine.streams) return;
  const problem = "this agent does not support streaming; use message/send or poll tasks/get";
  throw new A2AError("UnsupportedOperation", problem);
}

/**
 * Takes the cursor from the metadata of the request, unless the client sent it as a header. The
 * header has precedence: a client that reconnects automatically sends a new header and the same body.
 */
function withCursor(params: unknown, call: Call): Call {
  if (call.extensions?.has(EXTENSIONS.resumption.uri) !== true) return call;
  const cursor = resumptionCursor(readMetadata(params));
  return cursor === undefined || call.lastEventId !== undefined
    ? call
    : { ...call, lastEventId: cursor };
}

/** Metadata that is not an object is rejected by the codec. */
function readMetadata(params: unknown): Metadata | undefined {
  const metadata = isObject(params) ? params["metadata"] : undefined;
  return typeof metadata === "object" && metadata !== null ? (metadata as Metadata) : undefined;
}
