import { isObject } from "../../internal/json.ts";
import { invalidParams } from "../../model/errors.ts";
import type { Metadata } from "../../model/part.ts";
import type {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  SubscribeRequest,
} from "../../model/requests.ts";
import type { TaskState } from "../../model/task.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { jsonShape, readProtoFields } from "../codec/proto-fields.ts";
import { decodeMessage, encodeMessage } from "./message.ts";
import { decodePushTarget, encodePushTarget } from "./push-target.ts";
import { LIST, SEND, TASK_QUERY } from "./schemas.ts";
import { decodeTaskState, encodeTaskState } from "./task.ts";

const checkSend = compileCheck(SEND);

const CONFIGURATION_SHAPE = jsonShape([
  "returnImmediately",
  "historyLength",
  "acceptedOutputModes",
  "taskPushNotificationConfig",
]);

interface SendParams {
  readonly tenant?: string;
  readonly message: unknown;
  readonly configuration?: {
    readonly returnImmediately?: boolean;
    readonly historyLength?: number;
    readonly acceptedOutputModes?: readonly string[];
    readonly taskPushNotificationConfig?: unknown;
  };
  readonly metadata?: Metadata;
}

export function decodeSendMessage(value: unknown): SendMessageRequest {
  const params = withConfiguration(value);
  checkSend(params, "params");
  const { tenant, message, configuration = {}, metadata } = params as SendParams;
  const { returnImmediately, historyLength, acceptedOutputModes } = configuration;
  const { taskPushNotificationConfig } = configuration;
  return {
    message: decodeMessage(message, "message"),
    blocking: returnImmediately !== true,
    ...(historyLength !== undefined && { historyLength }),
    ...(acceptedOutputModes && { acceptedOutputModes }),
    ...(taskPushNotificationConfig !== undefined && {
      pushConfig: decodePushTarget(
        taskPushNotificationConfig,
        "configuration.taskPushNotificationConfig",
      ),
    }),
    ...(metadata && { metadata }),
    ...(tenant && { tenant }),
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

export function encodeSendMessage(request: SendMessageRequest): object {
  const { blocking, historyLength, acceptedOutputModes, pushConfig, metadata, tenant } = request;
  return {
    ...(tenant && { tenant }),
    message: encodeMessage(request.message),
    configuration: {
      ...(!blocking && { returnImmediately: true }),
      ...(historyLength !== undefined && { historyLength }),
      ...(acceptedOutputModes && { acceptedOutputModes }),
      ...(pushConfig && { taskPushNotificationConfig: encodePushTarget(pushConfig) }),
    },
    ...(metadata && { metadata }),
  };
}

interface TaskQuery {
  readonly id: string;
  readonly historyLength?: number;
  readonly metadata?: Metadata;
}

const checkTaskQuery = compileCheck(TASK_QUERY);

const TASK_QUERY_SHAPE = jsonShape(["tenant", "id", "historyLength", "metadata"]);

function decodeTaskQuery(value: unknown): TaskQuery {
  const params = readProtoFields(value, TASK_QUERY_SHAPE, "params");
  checkTaskQuery(params, "params");
  return params as TaskQuery;
}

export function decodeGetTask(value: unknown): GetTaskRequest {
  const { id, historyLength } = decodeTaskQuery(value);
  return { taskId: id, ...(historyLength !== undefined && { historyLength }) };
}

export function encodeGetTask({ taskId, historyLength }: GetTaskRequest): object {
  return { id: taskId, ...(historyLength !== undefined && { historyLength }) };
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

interface ListParams {
  readonly contextId?: string;
  readonly status?: string;
  readonly pageSize?: number;
  readonly pageToken?: string;
  readonly historyLength?: number;
  readonly statusTimestampAfter?: string;
  readonly includeArtifacts?: boolean;
}

const DEFAULT_PAGE_SIZE = 50;
const checkList = compileCheck(LIST);

const LIST_SHAPE = jsonShape([
  "tenant",
  "contextId",
  "status",
  "pageSize",
  "pageToken",
  "historyLength",
  "statusTimestampAfter",
  "includeArtifacts",
]);

export function decodeListTasks(value: unknown): ListTasksRequest {
  const params = readProtoFields(value ?? {}, LIST_SHAPE, "params") as ListParams;
  checkList(params, "params");
  const { contextId, pageToken, historyLength } = params;
  const state = decodeStateFilter(params.status);
  const statusTimestampAfter = decodeTimestamp(params.statusTimestampAfter);
  return {
    pageSize: params.pageSize ?? DEFAULT_PAGE_SIZE,
    includeArtifacts: params.includeArtifacts === true,
    ...(contextId && { contextId }),
    ...(pageToken && { pageToken }),
    ...(historyLength !== undefined && { historyLength }),
    ...(state !== undefined && { state }),
    ...(statusTimestampAfter !== undefined && { statusTimestampAfter }),
  };
}

function decodeStateFilter(value: string | undefined): TaskState | undefined {
  if (value === undefined || value === "" || value === "TASK_STATE_UNSPECIFIED") return undefined;
  const state = decodeTaskState(value);
  if (state === undefined)
    throw invalidParams("status", "must be a name such as TASK_STATE_WORKING");
  return state;
}

/** With a time zone: without one, the time would be ambiguous. */
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

function decodeTimestamp(value: string | undefined): string | undefined {
  if (value === undefined || value === "") return undefined;
  if (!ISO_TIME.test(value) || Number.isNaN(Date.parse(value))) {
    throw invalidParams(
      "statusTimestampAfter",
      "must be an ISO 8601 time such as 2026-01-31T12:00:00Z",
    );
  }
  return new Date(value).toISOString();
}

export function encodeListTasks(request: ListTasksRequest): object {
  const { state, ...rest } = request;
  return { ...rest, ...(state !== undefined && { status: encodeTaskState(state) }) };
}
