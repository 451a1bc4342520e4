import { A2AError } from "../../model/errors.ts";
import type {
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  ListPushConfigsRequest,
  PushConfig,
  PushConfigPage,
  PushTarget,
} from "../../model/requests.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { jsonShape, readProtoFields } from "../codec/proto-fields.ts";
import { decodePushTarget, encodePushTarget } from "./push-target.ts";
import { CREATE_PUSH_CONFIG, DELETE_PUSH_CONFIG, GET_PUSH_CONFIG, TASK_ID } from "./schemas.ts";
import { decodeTaskQuery } from "./task.ts";

const checkCreate = compileCheck(CREATE_PUSH_CONFIG);
const checkTaskId = compileCheck(TASK_ID);

const CREATE_SHAPE = jsonShape(["taskId", "id", "pushNotificationConfig"]);

/** A TaskPushNotificationConfig: the task next to the target. */
interface WireConfig {
  readonly taskId: string;
  readonly pushNotificationConfig: unknown;
}

/** Every other method calls the task `id`, so `id` is accepted if `taskId` is absent. */
export function decodeCreatePushConfig(value: unknown): CreatePushConfigRequest {
  let params = readProtoFields(value, CREATE_SHAPE, "params") as WireConfig & {
    readonly id?: unknown;
  };
  if (params?.taskId === undefined && params?.id !== undefined) {
    checkTaskId(params.id, "id");
    params = { ...params, taskId: params.id as string };
  }
  checkCreate(params, "params");
  const target = decodePushTarget(params.pushNotificationConfig, "pushNotificationConfig");
  return { taskId: params.taskId, target };
}

export function encodeCreatePushConfig({ taskId, target }: CreatePushConfigRequest): WireConfig {
  return { taskId, pushNotificationConfig: encodePushTarget(target) };
}

const checkGet = compileCheck(GET_PUSH_CONFIG);

export function decodeGetPushConfig(value: unknown): GetPushConfigRequest {
  const query = decodeTaskQuery(value);
  checkGet(query, "params");
  const { id: taskId, pushNotificationConfigId: id } = query;
  return { taskId, ...(id !== undefined && { id }) };
}

export function encodeGetPushConfig({ taskId, id }: GetPushConfigRequest): object {
  return { id: taskId, ...(id !== undefined && { pushNotificationConfigId: id }) };
}

export function decodeListPushConfigs(value: unknown): ListPushConfigsRequest {
  return { taskId: decodeTaskQuery(value).id };
}

export function encodeListPushConfigs({ taskId }: ListPushConfigsRequest): object {
  return { id: taskId };
}

const checkDelete = compileCheck(DELETE_PUSH_CONFIG);

export function decodeDeletePushConfig(value: unknown): DeletePushConfigRequest {
  const query = decodeTaskQuery(value);
  checkDelete(query, "params");
  return { taskId: query.id, id: query.pushNotificationConfigId ?? "" };
}

export function encodeDeletePushConfig({ taskId, id }: DeletePushConfigRequest): object {
  return { id: taskId, pushNotificationConfigId: id };
}

export function encodePushConfig({ taskId, ...target }: PushConfig): WireConfig {
  return { taskId, pushNotificationConfig: encodePushTarget(target) };
}

/** Decodes a config from a server. A config that was created without an id has the id of its task. */
export function decodePushConfig(value: unknown): PushConfig {
  const { taskId, pushNotificationConfig } = (value ?? {}) as Partial<WireConfig>;
  const target = pushNotificationConfig as PushTarget | undefined;
  if (typeof taskId !== "string" || typeof target?.url !== "string") {
    throw new A2AError("InvalidAgentResponse", "the push config has no taskId or no url");
  }
  return { ...encodePushTarget(target), taskId, id: target.id ?? taskId };
}

/** 0.3 §7.7: a bare list without pages. */
export function encodePushConfigPage({ configs }: PushConfigPage): readonly WireConfig[] {
  return configs.map(encodePushConfig);
}

export function decodePushConfigPage(value: unknown): PushConfigPage {
  if (!Array.isArray(value)) {
    throw new A2AError("InvalidAgentResponse", "the push configs are not a list");
  }
  return { configs: value.map(decodePushConfig), nextPageToken: "" };
}

/** 0.3 §7.8. */
export function encodeDeleted(): null {
  return null;
}
