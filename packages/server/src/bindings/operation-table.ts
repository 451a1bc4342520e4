import {
  A2AError,
  type Codec,
  EXTENSIONS,
  type Metadata,
  type OperationName,
  resumptionCursor,
} from "@convoke/protocol";
import {
  type Call,
  cancelTaskOperation as cancelTask,
  createPushConfig,
  deletePushConfig,
  type EventSource,
  getExtendedCard,
  getPushConfig,
  getTask,
  listPushConfigs,
  listTasks,
  rulesOf,
  sendMessage,
  sendStreamingMessage,
  subscribeToTask,
} from "@convoke/engine";

/** What an operation answers with: a value in the words of the wire version, or events. */
type Outcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "events"; readonly source: EventSource };

type Perform = (params: unknown, codec: Codec, call: Call) => Promise<Outcome>;

/**
 * Every operation between its codec and its rule. Bindings look operations up
 * here and have no logic of their own.
 */
export const PERFORM: Readonly<Record<OperationName, Perform>> = {
  sendMessage: async (params, codec, call) =>
    value(codec.encodeSendResult(await sendMessage(codec.decodeSendMessage(params), call))),
  sendStreamingMessage: async (params, codec, call) => {
    refuseWithoutStreams(call);
    const request = codec.decodeSendMessage(params);
    return events(await sendStreamingMessage(request, withCursor(params, call)));
  },
  getTask: async (params, codec, call) =>
    value(codec.encodeTask(await getTask(codec.decodeGetTask(params), call))),
  listTasks: async (params, codec, call) => {
    const request = codec.decodeListTasks(params);
    return value(codec.encodeTaskPage(await listTasks(request, call), request.includeArtifacts));
  },
  cancelTask: async (params, codec, call) =>
    value(codec.encodeTask(await cancelTask(codec.decodeCancelTask(params), call))),
  subscribeToTask: async (params, codec, call) => {
    refuseWithoutStreams(call);
    return events(await subscribeToTask(codec.decodeSubscribe(params), withCursor(params, call)));
  },
  createPushConfig: async (params, codec, call) => {
    rulesOf(call);
    const request = codec.decodeCreatePushConfig(params);
    return value(codec.encodePushConfig(await createPushConfig(request, call)));
  },
  getPushConfig: async (params, codec, call) => {
    rulesOf(call);
    const request = codec.decodeGetPushConfig(params);
    return value(codec.encodePushConfig(await getPushConfig(request, call)));
  },
  listPushConfigs: async (params, codec, call) => {
    rulesOf(call);
    const request = codec.decodeListPushConfigs(params);
    return value(codec.encodePushConfigPage(await listPushConfigs(request, call)));
  },
  deletePushConfig: async (params, codec, call) => {
    rulesOf(call);
    await deletePushConfig(codec.decodeDeletePushConfig(params), call);
    return value(codec.encodeDeleted());
  },
  getExtendedCard: async (_params, codec, call) => value(await getExtendedCard(codec, call)),
};

/** 1.0 §3.3.4: what the card does not have is not served, whatever is asked of it. */
function refuseWithoutStreams({ engine }: Call): void {
  if (engine.streams) return;
  const problem = "this agent does not stream; send the message without it, or poll its task";
  throw new A2AError("UnsupportedOperation", problem);
}

function value(result: unknown): Outcome {
  return { kind: "value", value: result };
}

function events(source: EventSource): Outcome {
  return { kind: "events", source };
}

/**
 * The call of a reader who says in the metadata of its request where it wants to go on. The header
 * counts before it: a client that reconnects by itself changes that, and sends the same body.
 */
function withCursor(params: unknown, call: Call): Call {
  if (call.extensions?.has(EXTENSIONS.resumption.uri) !== true) return call;
  const cursor = resumptionCursor(metadataOf(params));
  return cursor === undefined || call.lastEventId !== undefined
    ? call
    : { ...call, lastEventId: cursor };
}

/** Where `metadata` are no object, the codec says so. */
function metadataOf(params: unknown): Metadata | undefined {
  const metadata = (params as { readonly metadata?: unknown } | null | undefined)?.metadata;
  return typeof metadata === "object" && metadata !== null ? (metadata as Metadata) : undefined;
}
