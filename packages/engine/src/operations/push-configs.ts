import {
  A2AError,
  type CreatePushConfigRequest,
  type DeletePushConfigRequest,
  type GetPushConfigRequest,
  type ListPushConfigsRequest,
  type ProtocolVersion,
  type PushConfig,
  type PushConfigPage,
  type PushTarget,
  invalidParams,
  isTerminal,
} from "@convoke/protocol";
import type { PushRules } from "../run/engine.ts";
import { taskNotFound } from "../run/task-errors.ts";
import { type StoredTarget, readTarget } from "../push/notification.ts";
import type { NewPush, PushRecord, Seq } from "../log/backend.ts";
import { type Call, scopeOf } from "./call.ts";

/** The name of the URL field, in a request of its own and as part of a message. */
const URL_FIELDS = {
  "0.3": { own: "pushNotificationConfig.url", inline: "configuration.pushNotificationConfig.url" },
  "1.0": { own: "url", inline: "configuration.taskPushNotificationConfig.url" },
} as const satisfies Record<ProtocolVersion, object>;

/** Delivers the events of a task from now on. Replaces a config with the same id. */
export async function createPushConfig(
  { taskId, target }: CreatePushConfigRequest,
  call: Call,
): Promise<PushConfig> {
  const rules = requirePush(call);
  const { engine, version } = call;
  const { pushes } = engine.backend;
  const { head, state } = await engine.tasks.record(taskId, scopeOf(call));
  checkUrl(rules, target, URL_FIELDS[version].own);
  const push = toNewPush(target, {
    taskId,
    version,
    // If the task has ended already, its last event is delivered.
    cursor: isTerminal(state) ? head - 1 : head,
  });
  await checkRoom(push.id, taskId, call);
  const record = await pushes.put(taskId, push);
  if (record === undefined) throw taskNotFound(taskId);
  await rejectIfTooMany(record, rules, call);
  rules.changed(record);
  return toPushConfig(record);
}

/** Returns a config. Without an id: the config that was created without one, or else the first. */
export async function getPushConfig(
  { taskId, id }: GetPushConfigRequest,
  call: Call,
): Promise<PushConfig> {
  requirePush(call);
  const { engine } = call;
  const { pushes } = engine.backend;
  await engine.tasks.record(taskId, scopeOf(call));
  const named = await pushes.get(taskId, id ?? taskId);
  const record = named ?? (id === undefined ? (await pushes.ofTask(taskId))[0] : undefined);
  if (record === undefined) throw noConfig(taskId, id);
  return toPushConfig(record);
}

/** Returns the configs of a task, ordered by id: all of them, or a page if `pageSize` is given. */
export async function listPushConfigs(
  { taskId, pageSize, pageToken }: ListPushConfigsRequest,
  call: Call,
): Promise<PushConfigPage> {
  requirePush(call);
  const { engine } = call;
  const after = pageToken === undefined ? "" : decodeToken(pageToken);
  await engine.tasks.record(taskId, scopeOf(call));
  // Sorted here, because tokens are compared by the string order of JavaScript.
  const records = (await engine.backend.pushes.ofTask(taskId)).toSorted(byId);
  const rest = records.filter(({ id }) => id > after);
  const shown = rest.slice(0, pageSize);
  const last = shown.at(-1);
  const isLast = last === undefined || shown.length === rest.length;
  return { configs: shown.map(toPushConfig), nextPageToken: isLast ? "" : encodeToken(last.id) };
}

/** Deletes a config. Deleting one that does not exist succeeds (1.0 §3.1.10). */
export async function deletePushConfig(
  { taskId, id }: DeletePushConfigRequest,
  call: Call,
): Promise<void> {
  const rules = requirePush(call);
  const { engine } = call;
  await engine.tasks.record(taskId, scopeOf(call));
  // Stopped first: a pending delivery must not record progress for a later config with the same id.
  rules.deleted(taskId, id);
  try {
    await engine.backend.pushes.delete(taskId, id);
  } catch (error) {
    const record = await engine.backend.pushes.get(taskId, id);
    if (record?.state === "active") rules.changed(record);
    throw error;
  }
}

/** Validates a config sent with a message. Its task and log position are known only later. */
export async function inlinePush(
  target: PushTarget,
  call: Call,
  followUp: string | undefined,
): Promise<(taskId: string, after: Seq) => NewPush> {
  const { version } = call;
  const rules = requirePush(call);
  checkUrl(rules, target, URL_FIELDS[version].inline);
  if (followUp !== undefined) await checkRoom(target.id ?? followUp, followUp, call);
  return (taskId, after) => toNewPush(target, { taskId, version, cursor: after });
}

interface PushFacts {
  readonly taskId: string;
  /** The protocol version of the request, which is also used for the notifications. */
  readonly version: ProtocolVersion;
  readonly cursor: Seq;
}

/** The stored form of a target. Its id defaults to the task id, as in the official SDKs. */
function toNewPush(target: PushTarget, { taskId, version, cursor }: PushFacts): NewPush {
  const stored: StoredTarget = { ...target, id: target.id ?? taskId, version };
  return { id: stored.id, config: JSON.stringify(stored), cursor };
}

/** The config as its owner sent it, including secrets. */
function toPushConfig({ taskId, config }: PushRecord): PushConfig {
  const { version: _, ...target } = readTarget(config);
  return { taskId, ...target };
}

/** Throws if this agent does not support push notifications, which is checked before the request is decoded. */
export function requirePush({ engine }: Pick<Call, "engine">): PushRules {
  if (engine.pushRules !== undefined) return engine.pushRules;
  throw new A2AError("PushNotificationNotSupported", "this agent sends no push notifications");
}

function checkUrl(rules: PushRules, { url }: PushTarget, field: string): void {
  try {
    rules.check(url);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw invalidParams(field, `cannot be used: ${reason}`);
  }
}

async function checkRoom(newId: string, taskId: string, call: Call): Promise<void> {
  const rules = requirePush(call);
  const records = await call.engine.backend.pushes.ofTask(taskId);
  const others = records.filter(({ id }) => id !== newId);
  if (others.length >= rules.maxConfigs) throw tooMany(rules, taskId);
}

/** Concurrent requests may each have found room: then none of them is kept. */
async function rejectIfTooMany(record: PushRecord, rules: PushRules, call: Call): Promise<void> {
  const { taskId, id, generation } = record;
  const { pushes } = call.engine.backend;
  if (generation > 1 || (await pushes.ofTask(taskId)).length <= rules.maxConfigs) return;
  await pushes.delete(taskId, id);
  throw tooMany(rules, taskId);
}

function tooMany({ maxConfigs }: PushRules, taskId: string): A2AError {
  const limit = `at most ${maxConfigs} push configs per task; delete one first`;
  return new A2AError("InvalidParams", limit, {
    details: { taskId, limit: String(maxConfigs) },
  });
}

/** 1.0 §3.1.8 has no error of its own for a missing config. */
function noConfig(taskId: string, id: string | undefined): A2AError {
  const what = id === undefined ? "no push config" : `no push config ${id}`;
  return new A2AError("TaskNotFound", `task ${taskId} has ${what}`, {
    details: { taskId, ...(id !== undefined && { pushConfigId: id }) },
  });
}

function byId(left: PushRecord, right: PushRecord): number {
  return left.id < right.id ? -1 : 1;
}

/** The last id of the previous page, so that pages stay correct while configs are added and deleted. */
function encodeToken(id: string): string {
  return Buffer.from(id).toString("base64url");
}

function decodeToken(token: string): string {
  const id = Buffer.from(token, "base64url").toString();
  if (id === "" || encodeToken(id) !== token) {
    throw invalidParams("pageToken", "is not a token of an earlier page");
  }
  return id;
}
