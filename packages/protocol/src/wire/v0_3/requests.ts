import { isObject } from "../../internal/json.ts";
import { A2AError } from "../../model/errors.ts";
import type { Message } from "../../model/message.ts";
import type { Metadata } from "../../model/part.ts";
import type {
  CancelTaskRequest,
  GetTaskRequest,
  SendMessageRequest,
  SubscribeRequest,
} from "../../model/requests.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { jsonShape, readProtoFields } from "../codec/proto-fields.ts";
import { decodeMessage, encodeMessage } from "./message.ts";
import { decodePushTarget, encodePushTarget } from "./push-target.ts";
import { SEND } from "./schemas.ts";
import { decodeTaskQuery } from "./task.ts";

const checkSend = compileCheck(SEND);

const CONFIGURATION_SHAPE = jsonShape([
  "blocking",
  "historyLength",
  "acceptedOutputModes",
  "pushNotificationConfig",
]);

interface SendParams {
  readonly message: unknown;
  readonly configuration?: {
    readonly blocking?: boolean;
    readonly historyLength?: number;
    readonly acceptedOutputModes?: readonly string[];
    readonly pushNotificationConfig?: unknown;
  };
  readonly metadata?: Metadata;
}

export function decodeSendMessage(value: unknown): SendMessageRequest {
  const params = withConfiguration(value);
  checkSend(params, "params");
  const { message, configuration = {}, metadata } = params as SendParams;
  const { blocking, historyLength, acceptedOutputModes, pushNotificationConfig } = configuration;
  return {
    message: decodeMessage(message, "message"),
    blocking: blocking !== false,
    ...(historyLength !== undefined && { historyLength }),
    ...(acceptedOutputModes && { acceptedOutputModes }),
    ...(pushNotificationConfig !== undefined && {
      pushConfig: decodePushTarget(pushNotificationConfig, "configuration.pushNotificationConfig"),
    }),
    ...(metadata && { metadata }),
  };
}

/** The params with the JSON names in their configuration. */
function withConfiguration(params: unknown): unknown {
  if (!isObject(params) || params["configuration"] === undefined) return params;
  const { configuration } = params;
  return {
    ...params,
    configuration: readProtoFields(configuration, CONFIGURATION_SHAPE, "configuration"),
  };
}

export function encodeSendMessage(request: SendMessageRequest): {
  readonly message: Message;
  readonly configuration: object;
  readonly metadata?: Metadata;
} {
  const { blocking, historyLength, acceptedOutputModes, pushConfig, metadata } = request;
  return {
    message: encodeMessage(request.message),
    configuration: {
      blocking,
      ...(historyLength !== undefined && { historyLength }),
      ...(acceptedOutputModes && { acceptedOutputModes }),
      ...(pushConfig && { pushNotificationConfig: encodePushTarget(pushConfig) }),
    },
    ...(metadata && { metadata }),
  };
}

export function decodeGetTask(value: unknown): GetTaskRequest {
  const { id, historyLength, metadata } = decodeTaskQuery(value);
  return {
    taskId: id,
    ...(historyLength !== undefined && { historyLength }),
    ...(metadata && { metadata }),
  };
}

export function encodeGetTask({ taskId, historyLength, metadata }: GetTaskRequest): object {
  return {
    id: taskId,
    ...(historyLength !== undefined && { historyLength }),
    ...(metadata && { metadata }),
  };
}

export function decodeCancelTask(value: unknown): CancelTaskRequest {
  const { id, metadata } = decodeTaskQuery(value);
  return { taskId: id, ...(metadata && { metadata }) };
}

export function encodeCancelTask({ taskId, metadata }: CancelTaskRequest): object {
  return { id: taskId, ...(metadata && { metadata }) };
}

export function decodeSubscribe(value: unknown): SubscribeRequest {
  return { taskId: decodeTaskQuery(value).id };
}

export function encodeSubscribe({ taskId }: SubscribeRequest): object {
  return { id: taskId };
}

/** 0.3 has no list on JSON-RPC (§7). */
export function decodeListTasks(): never {
  throw new A2AError("UnsupportedOperation", "A2A 0.3 has no method that lists tasks");
}
