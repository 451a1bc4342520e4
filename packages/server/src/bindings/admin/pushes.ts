import { type Caller, invalidParams } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { type PushPosition, type PushRecord, type PushState, readTarget } from "@convoke/engine";
import type { App } from "../app.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import {
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  parseJson,
} from "../../http/exchange.ts";
import { type Admitted, admit } from "./admit.ts";

const STATES: ReadonlySet<string> = new Set(["active", "done", "dead"] satisfies PushState[]);

const MAX_SHOWN = 1000;

/** Lists the push configs of the caller or of all owners in one state, by default `dead`, without secrets. */
export async function listPushes(
  app: App,
  request: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const admitted = await admit(app, "listPushes", { request, caller });
  const state = request.query.get("state") ?? "dead";
  if (!STATES.has(state)) throw invalidParams("state", "must be one of active, done, dead");
  const records = await findRecords(app, admitted, state as PushState);
  const pushes = records.slice(0, MAX_SHOWN).map((record) => ({
    ...pushToJson(record),
    ...(admitted.owners && unscopedOwner(record.owner)),
  }));
  return jsonResponse(200, JSON.stringify({ pushes }));
}

/** Resumes deliveries that were given up: all of them, those of one task, or those of one config. */
export async function replayPushes(
  app: App,
  request: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const filter = parseFilter(await request.body());
  const admitted = await admit(app, "replayPushes", { request, caller, params: filter });
  const dead = await findRecords(app, admitted, "dead");
  const chosen = dead.filter(
    ({ taskId, id }) =>
      (filter.taskId === undefined || taskId === filter.taskId) &&
      (filter.id === undefined || id === filter.id),
  );
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

async function findRecords(
  app: App,
  { caller, owners, agent }: Admitted,
  state: PushState,
): Promise<PushRecord[]> {
  const query = { state, limit: PUSH_PAGE, ...(owners === undefined && { owner: caller.owner }) };
  const all: PushRecord[] = [];
  for (let after: PushPosition | undefined; ;) {
    const { pushes } = app.engine.backend;
    const page = await pushes.list({ ...query, ...(after && { after }) });
    for (const record of page) {
      const isMeant = owners === undefined || owners(record.owner);
      if (isMeant && (await isTaskOf(app, agent, record))) all.push(record);
    }
    after = page.at(-1);
    if (page.length < PUSH_PAGE) return all;
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

function pushToJson({
  taskId,
  id,
  config,
  cursor,
  state,
  failingSince,
  problem,
}: PushRecord): object {
  const { origin, pathname } = new URL(readTarget(config).url);
  return {
    taskId,
    id,
    // The query of a webhook URL often contains a secret.
    url: origin + pathname,
    state,
    deliveredUpTo: cursor,
    ...(failingSince !== undefined && { failingSince: new Date(failingSince).toISOString() }),
    ...(problem !== undefined && { problem }),
  };
}
