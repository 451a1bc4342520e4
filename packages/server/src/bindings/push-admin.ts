import { type PushPosition, type PushRecord, type PushState, readTarget } from "@convoke/engine";
import { type Caller, invalidParams } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { parseJson } from "../http/body.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../http/exchange.ts";
import type { App } from "./app.ts";

/** Where callers see the state of their push deliveries. Not part of A2A, which has no such operation. */
export const PUSHES_PATH = "/convoke/pushes";
export const REPLAY_PATH = "/convoke/pushes:replay";

const PAGE = 256;
const MAX_SHOWN = 1000;

const STATES: ReadonlySet<string> = new Set(["active", "done", "dead"] satisfies PushState[]);

/** Lists the caller's push configs in one state, by default `dead`, without secrets. */
export async function listPushes(
  app: App,
  { query }: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const state = query.get("state") ?? "dead";
  if (!STATES.has(state)) throw invalidParams("state", "must be one of active, done, dead");
  const records = await findRecords(app, caller, state as PushState);
  return jsonResponse(200, JSON.stringify({ pushes: records.slice(0, MAX_SHOWN).map(toJson) }));
}

/** Resumes deliveries that were given up: all of them, those of one task, or those of one config. */
export async function replayPushes(
  app: App,
  request: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const filter = parseFilter(await request.body());
  const dead = await findRecords(app, caller, "dead");
  const chosen = dead.filter(
    ({ taskId, id }) =>
      (filter.taskId === undefined || taskId === filter.taskId) &&
      (filter.id === undefined || id === filter.id),
  );
  let replayed = 0;
  for (const record of chosen) if (await app.push?.replay(record)) replayed++;
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

async function findRecords(app: App, { owner }: Caller, state: PushState): Promise<PushRecord[]> {
  const all: PushRecord[] = [];
  for (let after: PushPosition | undefined; ;) {
    const { pushes } = app.engine.backend;
    const page = await pushes.list({ state, owner, limit: PAGE, ...(after && { after }) });
    all.push(...page);
    after = page.at(-1);
    if (page.length < PAGE) return all;
  }
}

function toJson({ taskId, id, config, cursor, state, failingSince, problem }: PushRecord): object {
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
