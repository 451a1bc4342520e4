import type { Metadata } from "../../part.ts";
import type {
  CancelTaskRequest,
  GetTaskRequest,
  SendMessageRequest,
  SubscribeRequest,
} from "../../requests.ts";
import { checkOf } from "../check.ts";
import { decodeMessage, encodeMessage } from "./message.ts";
import { fieldsOf, shapeOf } from "./proto-fields.ts";
import { decodePushTarget, encodePushTarget } from "./push-target.ts";
import { parseTaskName, taskName } from "./resource-name.ts";
import { CONFIGURATION, NAMED, SEND } from "./schemas.ts";

export { decodeListTasks } from "../v0_3/requests.ts";

const checkSend = checkOf(SEND);
const checkConfiguration = checkOf(CONFIGURATION);
const checkNamed = checkOf(NAMED);

const SEND_SHAPE = shapeOf(["message", "configuration", "metadata"], {
  aliases: { request: "message" },
});
const CONFIGURATION_SHAPE = shapeOf(
  ["acceptedOutputModes", "pushNotification", "historyLength", "blocking"],
  {
    aliases: { pushNotificationConfig: "pushNotification" },
    integers: ["historyLength"],
  },
);
const NAMED_SHAPE = shapeOf(["name", "historyLength"], { integers: ["historyLength"] });

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

/** The message is called `request` in the proto, and `message` in its JSON. */
export function decodeSendMessage(value: unknown): SendMessageRequest {
  const params = fieldsOf(value, SEND_SHAPE);
  checkSend(params, "params");
  const { message, configuration, metadata } = params as SendParams;
  const named = fieldsOf(configuration ?? {}, CONFIGURATION_SHAPE);
  checkConfiguration(named, "configuration");
  const { blocking, historyLength, acceptedOutputModes, pushNotification } = named as Configuration;
  return {
    message: decodeMessage(message, "message"),
    // Proto3 leaves `false` out, so what is absent from a configuration is false.
    blocking: configuration === undefined || blocking === true,
    // The proto says of 0 that it is no limit, and cannot tell it from absent.
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

function decodeNamed(value: unknown): Named {
  const params = fieldsOf(value, NAMED_SHAPE);
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

/** The proto of 0.3 has no place for the metadata of a cancel. */
export function encodeCancelTask({ taskId }: CancelTaskRequest): object {
  return { name: taskName(taskId) };
}

export function decodeSubscribe(value: unknown): SubscribeRequest {
  return { taskId: parseTaskName(decodeNamed(value).name, "name") };
}

export function encodeSubscribe({ taskId }: SubscribeRequest): object {
  return { name: taskName(taskId) };
}
