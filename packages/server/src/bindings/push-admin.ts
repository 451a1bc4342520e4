import { type Caller, invalidParams } from "@convoke/protocol";
import type { App } from "../app.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { jsonResponse } from "../http/json-response.ts";
import { parseJson } from "../http/parse-json.ts";
import { type PushPosition, type PushRecord, type PushState, readTarget } from "@convoke/engine";

/** Where a caller sees how its pushes stand. It is no part of A2A, which has no word for what was given up. */
export const PUSHES_PATH = "/convoke/pushes";
export const REPLAY_PATH = "/convoke/pushes:replay";

const PAGE = 256;
const MOST = 1000;
const STATES: ReadonlySet<string> = new Set(["active", "done", "dead"] satisfies PushState[]);

/** The caller's push configs in one state, `dead` unless asked otherwise. No secret is among what is shown. */
export async function listPushes(
  app: App,
  { query }: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const state = query.get("state") ?? "dead";
  if (!STATES.has(state)) throw invalidParams("state", "must be one of active, done, dead");
  const records = await recordsOf(app, caller, state as PushState);
  return jsonResponse(200, JSON.stringify({ pushes: records.slice(0, MOST).map(shown) }));
}

/** Tries again what was given up: all of it, or that of one task, or one config. */
export async function replayPushes(
  app: App,
  request: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const wanted = wish(await request.body());
  const dead = await recordsOf(app, caller, "dead");
  const chosen = dead.filter(
    ({ taskId, id }) =>
      (wanted.taskId === undefined || taskId === wanted.taskId) &&
      (wanted.id === undefined || id === wanted.id),
  );
  let replayed = 0;
  for (const record of chosen) if (await app.push?.replay(record)) replayed++;
  return jsonResponse(200, JSON.stringify({ replayed }));
}

function wish(body: Uint8Array): Partial<PushPosition> {
  const value = (body.length === 0 ? {} : parseJson(body)) as Readonly<
    Record<string, unknown>
  > | null;
  if (typeof value !== "object" || value === null) {
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

async function recordsOf(app: App, { owner }: Caller, state: PushState): Promise<PushRecord[]> {
  const all: PushRecord[] = [];
  for (let after: PushPosition | undefined; ;) {
    const { pushes } = app.engine.backend;
    const page = await pushes.list({ state, owner, limit: PAGE, ...(after && { after }) });
    all.push(...page);
    after = page.at(-1);
    if (page.length < PAGE) return all;
  }
}

function shown({ taskId, id, config, cursor, state, failingSince, problem }: PushRecord): object {
  const { origin, pathname } = new URL(readTarget(config).url);
  return {
    taskId,
    id,
    // Queries of webhooks often hold a secret.
    url: origin + pathname,
    state,
    deliveredUpTo: cursor,
    ...(failingSince !== undefined && { failingSince: new Date(failingSince).toISOString() }),
    ...(problem !== undefined && { problem }),
  };
}
