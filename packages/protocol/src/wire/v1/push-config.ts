import { A2AError } from "../../model/errors.ts";
import type {
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  ListPushConfigsRequest,
  PushConfig,
  PushConfigPage,
} from "../../model/requests.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { jsonShape, readProtoFields } from "../codec/proto-fields.ts";
import {
  TARGET_SHAPE,
  type WireTarget,
  decodePushTarget,
  encodePushTarget,
  toTarget,
} from "./push-target.ts";
import { CREATE_PUSH_CONFIG, LIST_PUSH_CONFIGS, PUSH_CONFIG_QUERY } from "./schemas.ts";

const checkCreate = compileCheck(CREATE_PUSH_CONFIG);

/** A TaskPushNotificationConfig: the target with the task as one of its fields. */
interface WireConfig extends WireTarget {
  readonly taskId: string;
}

export function decodeCreatePushConfig(value: unknown): CreatePushConfigRequest {
  const params = readProtoFields(value, TARGET_SHAPE, "params");
  checkCreate(params, "params");
  const { taskId } = params as WireConfig;
  return { taskId, target: decodePushTarget(params, "params") };
}

export function encodeCreatePushConfig({ taskId, target }: CreatePushConfigRequest): WireConfig {
  return { taskId, ...encodePushTarget(target) };
}

export function decodeGetPushConfig(value: unknown): DeletePushConfigRequest {
  return decodeQuery(value);
}

/** 1.0 always names a config; one that was created without an id has the id of its task. */
export function encodeGetPushConfig({ taskId, id }: GetPushConfigRequest): object {
  return { taskId, id: id ?? taskId };
}

const checkList = compileCheck(LIST_PUSH_CONFIGS);

const LIST_SHAPE = jsonShape(["tenant", "taskId", "pageSize", "pageToken"]);

export function decodeListPushConfigs(value: unknown): ListPushConfigsRequest {
  const params = readProtoFields(value, LIST_SHAPE, "params");
  checkList(params, "params");
  const { taskId, pageSize, pageToken } = params as ListPushConfigsRequest;
  return {
    taskId,
    ...(pageSize !== undefined && { pageSize }),
    ...(pageToken && { pageToken }),
  };
}

export function encodeListPushConfigs(request: ListPushConfigsRequest): object {
  return request;
}

export function decodeDeletePushConfig(value: unknown): DeletePushConfigRequest {
  return decodeQuery(value);
}

export function encodeDeletePushConfig({ taskId, id }: DeletePushConfigRequest): object {
  return { taskId, id };
}

const checkQuery = compileCheck(PUSH_CONFIG_QUERY);

const QUERY_SHAPE = jsonShape(["tenant", "taskId", "id"]);

function decodeQuery(value: unknown): DeletePushConfigRequest {
  const params = readProtoFields(value, QUERY_SHAPE, "params");
  checkQuery(params, "params");
  const { taskId, id } = params as DeletePushConfigRequest;
  return { taskId, id };
}

export function encodePushConfig({ taskId, ...target }: PushConfig): WireConfig {
  return { taskId, ...encodePushTarget(target) };
}

/** Decodes a config from a server. A config that was created without an id has the id of its task. */
export function decodePushConfig(value: unknown): PushConfig {
  const config = (value ?? {}) as WireConfig;
  const { taskId, url } = config;
  if (typeof taskId !== "string" || typeof url !== "string") {
    throw new A2AError("InvalidAgentResponse", "the push config has no taskId or no url");
  }
  const target = toTarget(config);
  return { ...target, taskId, id: target.id ?? taskId };
}

export function encodePushConfigPage({ configs, nextPageToken }: PushConfigPage): object {
  return { configs: configs.map(encodePushConfig), nextPageToken };
}

/** ProtoJSON omits empty fields. */
export function decodePushConfigPage(value: unknown): PushConfigPage {
  const { configs = [], nextPageToken = "" } = (value ?? {}) as Partial<PushConfigPage>;
  return { configs: configs.map(decodePushConfig), nextPageToken };
}

/** google.protobuf.Empty. */
export function encodeDeleted(): object {
  return {};
}
