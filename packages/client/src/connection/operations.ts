import type { Calls, Codec, RawCard, Streams } from "@convoke/protocol";

interface CallWords<Name extends keyof Calls> {
  readonly encode: (codec: Codec, request: Calls[Name]["request"]) => unknown;
  readonly decode: (
    codec: Codec,
    value: unknown,
    request: Calls[Name]["request"],
  ) => Calls[Name]["result"];
}

/** Every operation with one answer, between the model and the codec of a wire version. */
export const CALLS: { readonly [Name in keyof Calls]: CallWords<Name> } = {
  sendMessage: {
    encode: (codec, request) => codec.encodeSendMessage(request),
    decode: (codec, value) => codec.decodeSendResult(value),
  },
  getTask: {
    encode: (codec, request) => codec.encodeGetTask(request),
    decode: (codec, value) => codec.decodeTask(value),
  },
  listTasks: {
    encode: (codec, request) => codec.encodeListTasks(request),
    decode: (codec, value) => codec.decodeTaskPage(value),
  },
  cancelTask: {
    encode: (codec, request) => codec.encodeCancelTask(request),
    decode: (codec, value) => codec.decodeTask(value),
  },
  createPushConfig: {
    encode: (codec, request) => codec.encodeCreatePushConfig(request),
    // Early servers say only that it worked; then it is as it was asked for.
    decode: (codec, value, { taskId, target }) =>
      isBareSuccess(value)
        ? { ...target, taskId, id: target.id ?? taskId }
        : codec.decodePushConfig(value),
  },
  getPushConfig: {
    encode: (codec, request) => codec.encodeGetPushConfig(request),
    decode: (codec, value) => codec.decodePushConfig(value),
  },
  listPushConfigs: {
    encode: (codec, request) => codec.encodeListPushConfigs(request),
    decode: (codec, value) => codec.decodePushConfigPage(value),
  },
  deletePushConfig: {
    encode: (codec, request) => codec.encodeDeletePushConfig(request),
    decode: () => undefined,
  },
  getExtendedCard: {
    // 0.3 and 1.0 both take nothing.
    encode: () => ({}),
    decode: (_codec, value) => {
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        return value as RawCard;
      }
      throw new TypeError("the extended card is not an object");
    },
  },
};

function isBareSuccess(value: unknown): boolean {
  return (value as { readonly success?: unknown } | null | undefined)?.success === true;
}

/** Every operation with a stream of answers; all answer with events. */
export const STREAMS: {
  readonly [Name in keyof Streams]: (codec: Codec, request: Streams[Name]) => unknown;
} = {
  sendStreamingMessage: (codec, request) => codec.encodeSendMessage(request),
  subscribeToTask: (codec, request) => codec.encodeSubscribe(request),
};
