import type { Metadata } from "../../model/part.ts";
import type {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  SubscribeRequest,
} from "../../model/requests.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { parseTaskName, protoShape, readProtoFields, taskName } from "../codec/proto-fields.ts";
import { decodeMessage, encodeMessage } from "./message.ts";
import { decodePushTarget, encodePushTarget } from "./push-target.ts";
import { CONFIGURATION, NAMED, SEND } from "./schemas.ts";
import { encodeTaskState } from "./task.ts";

export { decodeListTasks } from "../v0_3/requests.ts";

const checkSend = compileCheck(SEND);
const checkConfiguration = compileCheck(CONFIGURATION);

const SEND_SHAPE = protoShape(["message", "configuration", "metadata"], {
  aliases: { request: "message" },
});
const CONFIGURATION_SHAPE = protoShape(
  ["acceptedOutputModes", "pushNotification", "historyLength", "blocking"],
  {
    aliases: { pushNotificationConfig: "pushNotification" },
    integers: ["historyLength"],
  },
);

interface SendParams {
  readonly message: unknown;
  readonly configuration?: unknown;
  readonly metadata?: Metadata;
}

interface Configuration {
  readonly blocking?: boolean;
  readonly historyLength?: number;
  readonly acceptedOutputModes?: readonly string[];
  readonly pushNotification?: unknown;
}

/** The message is called `request` in the proto and `message` in its JSON. */
export function decodeSendMessage(value: unknown): SendMessageRequest {
  const params = readProtoFields(value, SEND_SHAPE, "params");
  checkSend(params, "params");
  const { message, configuration, metadata } = params as SendParams;
  const named = readProtoFields(configuration ?? {}, CONFIGURATION_SHAPE, "configuration");
  checkConfiguration(named, "configuration");
  const { blocking, historyLength, acceptedOutputModes, pushNotification } = named as Configuration;
  return {
    message: decodeMessage(message, "message"),
    // Proto3 omits `false`, so an absent field of a configuration is false.
    blocking: configuration === undefined || blocking === true,
    // In the proto 0 means no limit, and is the same as absent.
    ...(historyLength && { historyLength }),
    ...(acceptedOutputModes && { acceptedOutputModes }),
    ...(pushNotification !== undefined && {
      pushConfig: decodePushTarget(pushNotification, "configuration.pushNotification"),
    }),
    ...(metadata && { metadata }),
  };
}

export function encodeSendMessage(request: SendMessageRequest): object {
  const { blocking, historyLength, acceptedOutputModes, pushConfig, metadata } = request;
  return {
    message: encodeMessage(request.message),
    configuration: {
      blocking,
      ...(historyLength !== undefined && { historyLength }),
      ...(acceptedOutputModes && { acceptedOutputModes }),
      ...(pushConfig && { pushNotification: encodePushTarget(pushConfig) }),
    },
    ...(metadata && { metadata }),
  };
}

interface Named {
  readonly name: string;
  readonly historyLength?: number;
}

const NAMED_SHAPE = protoShape(["name", "historyLength"], { integers: ["historyLength"] });
const checkNamed = compileCheck(NAMED);

function decodeNamed(value: unknown): Named {
  const params = readProtoFields(value, NAMED_SHAPE, "params");
  checkNamed(params, "params");
  return params as Named;
}

export function decodeGetTask(value: unknown): GetTaskRequest {
  const { name, historyLength } = decodeNamed(value);
  return { taskId: parseTaskName(name, "name"), ...(historyLength && { historyLength }) };
}

export function encodeGetTask({ taskId, historyLength }: GetTaskRequest): object {
  return { name: taskName(taskId), ...(historyLength !== undefined && { historyLength }) };
}

export function decodeCancelTask(value: unknown): CancelTaskRequest {
  return { taskId: parseTaskName(decodeNamed(value).name, "name") };
}

/** The proto of 0.3 has no metadata in a cancel request. */
export function encodeCancelTask({ taskId }: CancelTaskRequest): object {
  return { name: taskName(taskId) };
}

export function decodeSubscribe(value: unknown): SubscribeRequest {
  return { taskId: parseTaskName(decodeNamed(value).name, "name") };
}

export function encodeSubscribe({ taskId }: SubscribeRequest): object {
  return { name: taskName(taskId) };
}

/** The table of 0.3 §3.5.6 has a list on REST without further details; servers that have it take the parameters of 1.0. */
export function encodeListTasks({ state, ...request }: ListTasksRequest): object {
  return { ...request, ...(state !== undefined && { status: encodeTaskState(state) }) };
}
