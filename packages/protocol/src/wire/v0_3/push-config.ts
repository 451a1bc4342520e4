import { A2AError } from "../../errors.ts";
import type { PushConfig, PushTarget } from "../../push-config.ts";
import type {
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  ListPushConfigsRequest,
  PushConfigPage,
} from "../../requests.ts";
import { checkOf } from "../check.ts";
import { decodePushTarget, encodePushTarget } from "./push-target.ts";
import { CREATE_PUSH_CONFIG, DELETE_PUSH_CONFIG, GET_PUSH_CONFIG, TASK_ID } from "./schemas.ts";
import { decodeTaskQuery } from "./task-query.ts";

const checkCreate = checkOf(CREATE_PUSH_CONFIG);
const checkTaskId = checkOf(TASK_ID);
const checkGet = checkOf(GET_PUSH_CONFIG);
const checkDelete = checkOf(DELETE_PUSH_CONFIG);

/** A TaskPushNotificationConfig: the task beside the target. */
interface WireConfig {
  readonly taskId: string;
  readonly pushNotificationConfig: unknown;
}

/** Every other method calls the task `id`, so that counts too where `taskId` is absent. */
export function decodeCreatePushConfig(value: unknown): CreatePushConfigRequest {
  let params = value as WireConfig & { readonly id?: unknown };
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

export function decodeGetPushConfig(value: unknown): GetPushConfigRequest {
  const { id: taskId } = decodeTaskQuery(value);
  checkGet(value, "params");
  const { pushNotificationConfigId: id } = value as { pushNotificationConfigId?: string };
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

export function decodeDeletePushConfig(value: unknown): DeletePushConfigRequest {
  const { id: taskId } = decodeTaskQuery(value);
  checkDelete(value, "params");
  return { taskId, id: (value as { pushNotificationConfigId: string }).pushNotificationConfigId };
}

export function encodeDeletePushConfig({ taskId, id }: DeletePushConfigRequest): object {
  return { id: taskId, pushNotificationConfigId: id };
}

export function encodePushConfig({ taskId, ...target }: PushConfig): WireConfig {
  return { taskId, pushNotificationConfig: encodePushTarget(target) };
}

/** Reads a config that a server sent. One that has no id was set without one, and has that of its task. */
export function decodePushConfig(value: unknown): PushConfig {
  const { taskId, pushNotificationConfig } = (value ?? {}) as Partial<WireConfig>;
  const target = pushNotificationConfig as PushTarget | undefined;
  if (typeof taskId !== "string" || typeof target?.url !== "string") {
    throw new A2AError("InvalidAgentResponse", "the push config has no taskId or no url");
  }
  return { ...encodePushTarget(target), taskId, id: target.id ?? taskId };
}

/** 0.3 §7.7: the list itself, which has no pages. */
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
