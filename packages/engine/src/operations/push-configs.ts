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
import type { PushRules } from "../run/push-rules.ts";
import { type StoredTarget, readTarget } from "../push/stored-target.ts";
import type { NewPush, PushRecord, Seq } from "../log/backend.ts";
import type { Call } from "./call.ts";

/** The URL of a target as a caller wrote it: in a request of its own, and beside a message. */
const URL_FIELDS = {
  "0.3": { own: "pushNotificationConfig.url", inline: "configuration.pushNotificationConfig.url" },
  "1.0": { own: "url", inline: "configuration.taskPushNotificationConfig.url" },
} as const satisfies Record<ProtocolVersion, object>;

/** Pushes what happens to a task from now on. A config whose id the task has already is replaced. */
export async function createPushConfig(
  { taskId, target }: CreatePushConfigRequest,
  call: Call,
): Promise<PushConfig> {
  const rules = rulesOf(call);
  const { engine, caller, version } = call;
  const { pushes } = engine.backend;
  const { head, state } = await engine.tasks.record(taskId, caller);
  checkUrl(rules, target, URL_FIELDS[version].own);
  const push = pushOf(target, {
    taskId,
    version,
    // Whoever asks too late is still told how it ended.
    cursor: isTerminal(state) ? head - 1 : head,
  });
  await checkRoom(push.id, taskId, call);
  const record = await pushes.put(taskId, push);
  if (record === undefined) throw taskIsGone(taskId);
  await refuseOneTooMany(record, rules, call);
  rules.changed(record);
  return configOf(record);
}

/** The config of that id. Without an id it is the one that was set without one, or else the first. */
export async function getPushConfig(
  { taskId, id }: GetPushConfigRequest,
  call: Call,
): Promise<PushConfig> {
  rulesOf(call);
  const { engine, caller } = call;
  const { pushes } = engine.backend;
  await engine.tasks.record(taskId, caller);
  const named = await pushes.get(taskId, id ?? taskId);
  const record = named ?? (id === undefined ? (await pushes.ofTask(taskId))[0] : undefined);
  if (record === undefined) throw noConfig(taskId, id);
  return configOf(record);
}

/** The configs of a task, ordered by id: all of them, or a page where the caller asks for pages. */
export async function listPushConfigs(
  { taskId, pageSize, pageToken }: ListPushConfigsRequest,
  call: Call,
): Promise<PushConfigPage> {
  rulesOf(call);
  const { engine, caller } = call;
  const after = pageToken === undefined ? "" : decodeToken(pageToken);
  await engine.tasks.record(taskId, caller);
  // Sorted here, because pages compare ids as this process does.
  const records = (await engine.backend.pushes.ofTask(taskId)).toSorted(byId);
  const rest = records.filter(({ id }) => id > after);
  const shown = rest.slice(0, pageSize);
  const last = shown.at(-1);
  const isLast = last === undefined || shown.length === rest.length;
  return { configs: shown.map(configOf), nextPageToken: isLast ? "" : encodeToken(last.id) };
}

/** Ends the deliveries of a config. One that is not there is deleted already (1.0 §3.1.10). */
export async function deletePushConfig(
  { taskId, id }: DeletePushConfigRequest,
  call: Call,
): Promise<void> {
  const rules = rulesOf(call);
  const { engine, caller } = call;
  await engine.tasks.record(taskId, caller);
  // Stopped first: what is still under way must not be taken for the progress of a config to come.
  rules.deleted(taskId, id);
  try {
    await engine.backend.pushes.delete(taskId, id);
  } catch (error) {
    const record = await engine.backend.pushes.get(taskId, id);
    if (record?.state === "active") rules.changed(record);
    throw error;
  }
}

/** A config that came with a message: its task and its place in the log are known only later. */
export async function inlinePush(
  target: PushTarget,
  call: Call,
  followUp: string | undefined,
): Promise<(taskId: string, after: Seq) => NewPush> {
  const { version } = call;
  const rules = rulesOf(call);
  checkUrl(rules, target, URL_FIELDS[version].inline);
  if (followUp !== undefined) await checkRoom(target.id ?? followUp, followUp, call);
  return (taskId, after) => pushOf(target, { taskId, version, cursor: after });
}

interface PushFacts {
  readonly taskId: string;
  /** The wire version that the config came by: its notifications are written in it. */
  readonly version: ProtocolVersion;
  readonly cursor: Seq;
}

/** A target as it is stored. Without an id it has that of its task, as with the official SDKs. */
function pushOf(target: PushTarget, { taskId, version, cursor }: PushFacts): NewPush {
  const stored: StoredTarget = { ...target, id: target.id ?? taskId, version };
  return { id: stored.id, config: JSON.stringify(stored), cursor };
}

/** As its owner gave it, secrets included. */
function configOf({ taskId, config }: PushRecord): PushConfig {
  const { version: _, ...target } = readTarget(config);
  return { taskId, ...target };
}

/** Asked before anything else: an agent that pushes nothing does not look at what is asked of it. */
export function rulesOf({ engine }: Call): PushRules {
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
  const rules = rulesOf(call);
  const records = await call.engine.backend.pushes.ofTask(taskId);
  const others = records.filter(({ id }) => id !== newId);
  if (others.length >= rules.maxConfigs) throw tooMany(rules, taskId);
}

/** Several that came at the same time may each have found room: then none of them stays. */
async function refuseOneTooMany(record: PushRecord, rules: PushRules, call: Call): Promise<void> {
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

/** 1.0 §3.1.8 has no error of its own for it. */
function noConfig(taskId: string, id: string | undefined): A2AError {
  const what = id === undefined ? "no push config" : `no push config ${id}`;
  return new A2AError("TaskNotFound", `task ${taskId} has ${what}`, {
    details: { taskId, ...(id !== undefined && { pushConfigId: id }) },
  });
}

/** It was there a moment ago. */
function taskIsGone(taskId: string): A2AError {
  return new A2AError("TaskNotFound", `there is no task ${taskId}`, { details: { taskId } });
}

function byId(left: PushRecord, right: PushRecord): number {
  return left.id < right.id ? -1 : 1;
}

/** The last id of the page before, so pages stay right while configs come and go. */
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
