import { type Caller, invalidParams } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import {
  type DeliveryAttempt,
  type PushPosition,
  type PushRecord,
  type PushState,
  readTarget,
  readTask,
} from "@convoke/engine";
import type { App } from "../app.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import {
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  parseJson,
} from "../../http/exchange.ts";
import { type Admitted, admit, parsePageSize } from "./admit.ts";

const STATES: ReadonlySet<string> = new Set(["active", "done", "dead"] satisfies PushState[]);

/** How many configs are examined for one page, whatever the filter is. */
const MAX_EXAMINED = 1000;

/** Lists the push configs of the caller or of all owners in one state, by default `dead`, without secrets. */
export async function listPushes(
  app: App,
  request: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const admitted = await admit(app, "listPushes", { request, caller });
  const { query } = request;
  const state = query.get("state") ?? "dead";
  if (!STATES.has(state)) throw invalidParams("state", "must be one of active, done, dead");
  const pageSize = parsePageSize(query);
  const after = parsePosition(query.get("pageToken"));
  const pushes: object[] = [];
  let [position, examined] = [after, 0];
  for await (const { record, isMeant } of examine(app, admitted, {
    state: state as PushState,
    after,
  })) {
    if (pushes.length >= pageSize || examined >= MAX_EXAMINED) {
      const nextPageToken = position && encodePosition(position);
      return jsonResponse(200, JSON.stringify({ pushes, nextPageToken }));
    }
    if (isMeant) pushes.push(pushToJson(app, admitted, record));
    position = record;
    examined++;
  }
  return jsonResponse(200, JSON.stringify({ pushes, nextPageToken: "" }));
}

function encodePosition({ taskId, id }: PushPosition): string {
  return Buffer.from(JSON.stringify([taskId, id])).toString("base64url");
}

function parsePosition(token: string | null): PushPosition | undefined {
  if (token === null || token === "") return undefined;
  try {
    const [taskId, id] = JSON.parse(Buffer.from(token, "base64url").toString()) as unknown[];
    if (typeof taskId === "string" && typeof id === "string") return { taskId, id };
  } catch {
    // Rejected below.
  }
  throw invalidParams("pageToken", "is not a token of an earlier page");
}

/** Resumes deliveries that were given up: all of them, those of one task, or those of one config. */
export async function replayPushes(
  app: App,
  request: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const filter = parseFilter(await request.body());
  const admitted = await admit(app, "replayPushes", { request, caller, params: filter });
  const chosen: PushRecord[] = [];
  for await (const { record, isMeant } of examine(app, admitted, { state: "dead" })) {
    const isNamed =
      (filter.taskId === undefined || record.taskId === filter.taskId) &&
      (filter.id === undefined || record.id === filter.id);
    if (isMeant && isNamed) chosen.push(record);
  }
  let replayed = 0;
  for (const record of chosen) if (await app.push?.replay(record)) replayed++;
  app.audit.record("push.replayed", {
    requestId: request.id,
    owner: caller.owner,
    tenant: caller.tenant,
    ...filter,
    replayed,
  });
  return jsonResponse(200, JSON.stringify({ replayed }));
}

/** Sends a test notification for one config, and returns what its receiver answered. */
export async function testPush(
  app: App,
  request: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const { taskId, id } = parseFilter(await request.body());
  if (taskId === undefined) throw invalidParams("taskId", "must be the id of a task");
  if (id === undefined) throw invalidParams("id", "must be the id of a push config of the task");
  const admitted = await admit(app, "testPush", { request, caller, params: { taskId, id } });
  const { task } = await readTask({ taskId }, { engine: app.engine, ...admitted });
  const record = await app.engine.backend.pushes.get(taskId, id);
  if (app.push === undefined || record === undefined) {
    throw invalidParams("id", `${JSON.stringify(id)} is not a push config of this task`);
  }
  const attempt = await app.push.test(record, { task, signal: app.engine.closing });
  const { owner, tenant } = caller;
  const { status, problem } = attempt;
  const facts = { requestId: request.id, owner, tenant, taskId, id, status, problem };
  app.audit.record("push.tested", facts);
  return jsonResponse(200, JSON.stringify(attemptToJson(attempt)));
}

function parseFilter(body: Uint8Array): Partial<PushPosition> {
  const value = body.length === 0 ? {} : parseJson(body);
  if (!isObject(value)) {
    throw invalidParams("body", 'must be an object such as {} or {"taskId": "…"}');
  }
  for (const name of ["taskId", "id"]) {
    const given = value[name];
    if (given !== undefined && typeof given !== "string") {
      throw invalidParams(name, "must be a string");
    }
  }
  return value as Partial<PushPosition>;
}

const PUSH_PAGE = 256;

/** Reads the configs in one state, and says of each whether the request is about it. */
async function* examine(
  app: App,
  { caller, owners, agent }: Admitted,
  start: { readonly state: PushState; readonly after?: PushPosition | undefined },
): AsyncGenerator<{ readonly record: PushRecord; readonly isMeant: boolean }> {
  const owner = owners === undefined && { owner: caller.owner };
  const query = { state: start.state, limit: PUSH_PAGE, ...owner };
  for (let { after } = start; ;) {
    const { pushes } = app.engine.backend;
    const page = await pushes.list({ ...query, ...(after && { after }) });
    for (const record of page) {
      const isOfOwner = owners === undefined || owners(record.owner);
      yield { record, isMeant: isOfOwner && (await isTaskOf(app, agent, record)) };
    }
    after = page.at(-1);
    if (page.length < PUSH_PAGE) return;
  }
}

/** Whether a config belongs to a task of the agent, if there are several. */
async function isTaskOf(
  { engine }: App,
  agent: Admitted["agent"],
  { taskId, owner }: PushRecord,
): Promise<boolean> {
  const scope = engine.scope({ owner }, agent);
  if (scope.agent === undefined) return true;
  const task = await engine.backend.tasks.get(taskId);
  return task !== undefined && scope.agent.owns(task);
}

function pushToJson({ push }: App, { owners }: Admitted, record: PushRecord): object {
  const { taskId, id, config, cursor, state, failingSince, problem } = record;
  const { origin, pathname } = new URL(readTarget(config).url);
  const { attempts = [], nextAt } = push?.deliveryOf(record) ?? {};
  return {
    taskId,
    id,
    // The query of a webhook URL often contains a secret.
    url: origin + pathname,
    state,
    deliveredUpTo: cursor,
    ...(failingSince !== undefined && { failingSince: new Date(failingSince).toISOString() }),
    ...(problem !== undefined && { problem }),
    attempts: attempts.map(attemptToJson),
    ...(nextAt !== undefined && { nextAt: new Date(nextAt).toISOString() }),
    ...(owners && unscopedOwner(record.owner)),
  };
}

function attemptToJson({ at, ...attempt }: DeliveryAttempt): object {
  return { at: new Date(at).toISOString(), ...attempt };
}
