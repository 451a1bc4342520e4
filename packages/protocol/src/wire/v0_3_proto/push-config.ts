import { A2AError, invalidParams } from "../../errors.ts";
import type { PushConfig, PushTarget } from "../../push-config.ts";
import type {
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  ListPushConfigsRequest,
  PushConfigPage,
} from "../../requests.ts";
import { checkOf } from "../check.ts";
import { decodePushConfig as decodeKindConfig } from "../v0_3/push-config.ts";
import { fieldsOf, shapeOf } from "./proto-fields.ts";
import { decodePushTarget, encodePushTarget } from "./push-target.ts";
import { configName, parseConfigName, parseTaskName, taskName } from "./resource-name.ts";
import { CREATE_PUSH_CONFIG, LIST_PUSH_CONFIGS, NAMED } from "./schemas.ts";

const checkCreate = checkOf(CREATE_PUSH_CONFIG);
const checkNamed = checkOf(NAMED);
const checkList = checkOf(LIST_PUSH_CONFIGS);

const CREATE_SHAPE = shapeOf(["parent", "configId", "config"]);
const CONFIG_SHAPE = shapeOf(["name", "pushNotificationConfig"]);
const NAMED_SHAPE = shapeOf(["name"]);
const LIST_SHAPE = shapeOf(["parent", "pageSize", "pageToken"], { integers: ["pageSize"] });
const PAGE_SHAPE = shapeOf(["configs", "nextPageToken"]);

/** A TaskPushNotificationConfig: the target, and its name, which says the task. */
interface WireConfig {
  readonly name?: string;
  readonly pushNotificationConfig?: unknown;
}

/**
 * The name in the config does not count: the request says where it is created.
 * A config that is the target itself is what the text of 0.3 shows for REST.
 */
export function decodeCreatePushConfig(value: unknown): CreatePushConfigRequest {
  const params = fieldsOf(value, CREATE_SHAPE);
  checkCreate(params, "params");
  const { parent, configId, config } = params as {
    readonly parent: string;
    readonly configId?: string;
    readonly config: object;
  };
  const taskId = parseTaskName(parent, "parent");
  const { pushNotificationConfig } = fieldsOf(config, CONFIG_SHAPE) as WireConfig;
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

/** A name always has both ids; a config that was set without one has that of its task. */
export function encodeGetPushConfig({ taskId, id }: GetPushConfigRequest): object {
  return { name: configName(taskId, id ?? taskId) };
}

export function decodeListPushConfigs(value: unknown): ListPushConfigsRequest {
  const params = fieldsOf(value, LIST_SHAPE);
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

function decodeNamed(value: unknown): DeletePushConfigRequest {
  const params = fieldsOf(value, NAMED_SHAPE);
  checkNamed(params, "params");
  return parseConfigName((params as { readonly name: string }).name, "name");
}

export function encodePushConfig({ taskId, ...target }: PushConfig): WireConfig {
  return {
    name: configName(taskId, target.id),
    pushNotificationConfig: encodePushTarget(target),
  };
}

/** A server that gave the config no id leaves it out of the name as well. */
const SENT_NAME = /^tasks\/([^/]+)(?:\/pushNotificationConfigs\/(.*))?$/s;

/** Reads a config that a server sent, also one that answers in the dialect of JSON-RPC. One that has no id was set without one, and has that of its task. */
export function decodePushConfig(value: unknown): PushConfig {
  if (typeof (value as { taskId?: unknown } | null)?.taskId === "string") {
    return decodeKindConfig(value);
  }
  const { name = "", pushNotificationConfig } = (fieldsOf(value, CONFIG_SHAPE) ?? {}) as WireConfig;
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

/** ProtoJSON leaves out what is empty. The text of 0.3 shows the bare list for REST. */
export function decodePushConfigPage(value: unknown): PushConfigPage {
  if (Array.isArray(value)) return { configs: value.map(decodePushConfig), nextPageToken: "" };
  const page = (fieldsOf(value, PAGE_SHAPE) ?? {}) as Partial<PushConfigPage>;
  const { configs = [], nextPageToken = "" } = page;
  return { configs: configs.map(decodePushConfig), nextPageToken };
}

/** google.protobuf.Empty. */
export function encodeDeleted(): object {
  return {};
}
