import { A2AError, invalidParams } from "../../model/errors.ts";
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
import {
  configName,
  parseConfigName,
  parseTaskName,
  protoShape,
  readProtoFields,
  taskName,
} from "../codec/proto-fields.ts";
import { decodePushConfig as decodeConfig03 } from "../v0_3/push-config.ts";
import { decodePushTarget, encodePushTarget } from "./push-target.ts";
import { CREATE_PUSH_CONFIG, LIST_PUSH_CONFIGS, NAMED } from "./schemas.ts";

const checkCreate = compileCheck(CREATE_PUSH_CONFIG);

const CREATE_SHAPE = protoShape(["parent", "configId", "config"]);
const CONFIG_SHAPE = protoShape(["name", "pushNotificationConfig"]);

/** A TaskPushNotificationConfig: the target and its resource name, which contains the task. */
interface WireConfig {
  readonly name?: string;
  readonly pushNotificationConfig?: unknown;
}

/**
 * The name in the config is ignored: the request says where it is created. The text of 0.3 shows
 * the bare target as the config for REST.
 */
export function decodeCreatePushConfig(value: unknown): CreatePushConfigRequest {
  const params = readProtoFields(value, CREATE_SHAPE, "params");
  checkCreate(params, "params");
  const { parent, configId, config } = params as {
    readonly parent: string;
    readonly configId?: string;
    readonly config: object;
  };
  const taskId = parseTaskName(parent, "parent");
  const { pushNotificationConfig } = readProtoFields(config, CONFIG_SHAPE, "config") as WireConfig;
  const target =
    pushNotificationConfig === undefined && "url" in config
      ? decodePushTarget(config, "config")
      : decodePushTarget(pushNotificationConfig, "config.pushNotificationConfig");
  return { taskId, target: withId(target, configId) };
}

function withId(target: PushTarget, configId: string | undefined): PushTarget {
  if (configId === undefined || configId === "" || configId === target.id) return target;
  if (target.id === undefined) return { id: configId, ...target };
  throw invalidParams("configId", "must be the id that the config has, or be left out");
}

export function encodeCreatePushConfig({ taskId, target }: CreatePushConfigRequest): object {
  const { id } = target;
  return {
    parent: taskName(taskId),
    ...(id !== undefined && { configId: id }),
    config: {
      ...(id !== undefined && { name: configName(taskId, id) }),
      pushNotificationConfig: encodePushTarget(target),
    },
  };
}

export function decodeGetPushConfig(value: unknown): DeletePushConfigRequest {
  return decodeNamed(value);
}

/** A name always has both ids; a config that was created without an id has the id of its task. */
export function encodeGetPushConfig({ taskId, id }: GetPushConfigRequest): object {
  return { name: configName(taskId, id ?? taskId) };
}

const LIST_SHAPE = protoShape(["parent", "pageSize", "pageToken"], { integers: ["pageSize"] });
const checkList = compileCheck(LIST_PUSH_CONFIGS);

export function decodeListPushConfigs(value: unknown): ListPushConfigsRequest {
  const params = readProtoFields(value, LIST_SHAPE, "params");
  checkList(params, "params");
  const { parent, pageSize, pageToken } = params as {
    readonly parent: string;
    readonly pageSize?: number;
    readonly pageToken?: string;
  };
  return {
    taskId: parseTaskName(parent, "parent"),
    ...(pageSize && { pageSize }),
    ...(pageToken && { pageToken }),
  };
}

export function encodeListPushConfigs({ taskId, ...page }: ListPushConfigsRequest): object {
  return { parent: taskName(taskId), ...page };
}

export function decodeDeletePushConfig(value: unknown): DeletePushConfigRequest {
  return decodeNamed(value);
}

export function encodeDeletePushConfig({ taskId, id }: DeletePushConfigRequest): object {
  return { name: configName(taskId, id) };
}

const NAMED_SHAPE = protoShape(["name"]);
const checkNamed = compileCheck(NAMED);

function decodeNamed(value: unknown): DeletePushConfigRequest {
  const params = readProtoFields(value, NAMED_SHAPE, "params");
  checkNamed(params, "params");
  return parseConfigName((params as { readonly name: string }).name, "name");
}

export function encodePushConfig({ taskId, ...target }: PushConfig): WireConfig {
  return {
    name: configName(taskId, target.id),
    pushNotificationConfig: encodePushTarget(target),
  };
}

/** The name of a config in a response; servers that assign no id omit it here, too. */
const SENT_NAME = /^tasks\/([^/]+)(?:\/pushNotificationConfigs\/(.*))?$/s;

/** Decodes a config from a server, which may use the dialect of JSON-RPC. A config that was created without an id has the id of its task. */
export function decodePushConfig(value: unknown): PushConfig {
  if (typeof (value as { taskId?: unknown } | null)?.taskId === "string") {
    return decodeConfig03(value);
  }
  const { name = "", pushNotificationConfig } = (readProtoFields(value, CONFIG_SHAPE, "config") ??
    {}) as WireConfig;
  const [, taskId, id] = SENT_NAME.exec(String(name)) ?? [];
  const target = pushNotificationConfig as PushTarget | undefined;
  if (taskId === undefined || typeof target?.url !== "string") {
    throw new A2AError("InvalidAgentResponse", "the push config has no task in its name or no url");
  }
  return { ...encodePushTarget(target), taskId, id: target.id || id || taskId };
}

export function encodePushConfigPage({ configs, nextPageToken }: PushConfigPage): object {
  return { configs: configs.map(encodePushConfig), nextPageToken };
}

const PAGE_SHAPE = protoShape(["configs", "nextPageToken"]);

/** ProtoJSON omits empty fields. The text of 0.3 shows a bare list for REST. */
export function decodePushConfigPage(value: unknown): PushConfigPage {
  if (Array.isArray(value)) return { configs: value.map(decodePushConfig), nextPageToken: "" };
  const page = (readProtoFields(value, PAGE_SHAPE, "page") ?? {}) as Partial<PushConfigPage>;
  const { configs = [], nextPageToken = "" } = page;
  return { configs: configs.map(decodePushConfig), nextPageToken };
}

/** google.protobuf.Empty. */
export function encodeDeleted(): object {
  return {};
}
