import { A2AError, type Caller, errorText, invalidParams } from "@convoke/protocol";
import type { App } from "../app.ts";
import {
  APPROVALS_PATH,
  answeredApproval,
  showApprovals,
  takeDecision,
} from "../bindings/approval-admin.ts";
import { CARD_PATHS, KEYS_PATH } from "../cards/card-binding.ts";
import { isGrpc } from "../bindings/grpc/is-grpc.ts";
import { handleRest } from "../bindings/rest/handle.ts";
import { openRest } from "../bindings/rest/open.ts";
import { handleJsonRpc } from "../bindings/jsonrpc/handle.ts";
import { codecFor } from "../bindings/jsonrpc/open.ts";
import { PUBLIC_PREFLIGHT, isPreflight } from "./cors.ts";
import type { HttpHeaders, HttpRequest, HttpResponse } from "./exchange.ts";
import { jsonResponse } from "./json-response.ts";
import { parseJson } from "./parse-json.ts";
import { type PushPosition, type PushRecord, type PushState, readTarget } from "@convoke/engine";

/** Where a caller sees how its pushes stand. It is no part of A2A, which has no word for what was given up. */
const PUSHES_PATH = "/convoke/pushes";

const REPLAY_PATH = "/convoke/pushes:replay";

const PAGE = 256;

const MOST = 1000;

const STATES: ReadonlySet<string> = new Set(["active", "done", "dead"] satisfies PushState[]);

/** Where JSON-RPC is spoken. */
const RPC_PATHS: ReadonlySet<string> = new Set(["/", "/api/a2a"]);

/** What everyone may read. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set([...CARD_PATHS, KEYS_PATH]);

/** Every request enters here: guard, then the binding that its path names. */
export async function handle(app: App, request: HttpRequest): Promise<HttpResponse> {
  return app.cors.dress(await answer(app, request), request);
}

async function answer(app: App, request: HttpRequest): Promise<HttpResponse> {
  try {
    if (app.engine.closing.aborted) throw new A2AError("Unavailable", "this agent has stopped");
    if (isPreflight(request)) {
      const preflight = answerPreflight(app, request);
      if (preflight !== undefined) return preflight;
    }
    if (CARD_PATHS.has(request.path)) {
      app.guard.admit(request);
      return allow(request, ["GET", "HEAD"]) ?? (await app.card.handle(request));
    }
    if (request.path === KEYS_PATH) {
      app.guard.admit(request);
      return allow(request, ["GET", "HEAD"]) ?? app.card.keySet();
    }
    if (isGrpc(request)) {
      // Loaded by the first who needs it: a server starts faster without.
      const { handleGrpc } = await import("../bindings/grpc/handle.ts");
      return await handleGrpc(app, request, () => app.guard.identify(request));
    }
    const rest = openRest(request);
    if (rest !== undefined) {
      return await handleRest(app, rest, () => app.guard.identify(request));
    }
    const caller = app.guard.identify(request);
    if (RPC_PATHS.has(request.path)) {
      return allow(request, ["POST"]) ?? (await handleJsonRpc(app, request, caller));
    }
    if (request.path === PUSHES_PATH) {
      return allow(request, ["GET"]) ?? (await listPushes(app, request, caller));
    }
    if (request.path === REPLAY_PATH) {
      return allow(request, ["POST"]) ?? (await replayPushes(app, request, caller));
    }
    if (request.path === APPROVALS_PATH) {
      return allow(request, ["GET"]) ?? (await showApprovals(app, request, caller));
    }
    const approvalId = answeredApproval(request);
    if (approvalId !== undefined) {
      return allow(request, ["POST"]) ?? (await takeDecision(app, approvalId, { request, caller }));
    }
    return plainError(
      404,
      `there is nothing at ${request.basePath}${request.path}; the card is at ${request.basePath}/.well-known/agent-card.json`,
    );
  } catch (thrown) {
    return refusal(app.explain(thrown), request);
  }
}

/** A browser asks before its page may send; it shows no token yet. */
function answerPreflight(app: App, request: HttpRequest): HttpResponse | undefined {
  if (PUBLIC_PATHS.has(request.path)) {
    app.guard.admit(request);
    return PUBLIC_PREFLIGHT;
  }
  app.guard.admitPage(request);
  return app.cors.preflight(request);
}

/** An answer when the path does not take the method. */
function allow(request: HttpRequest, methods: readonly string[]): HttpResponse | undefined {
  if (methods.includes(request.method)) return undefined;
  const list = methods.join(", ");
  return plainError(405, `${request.path} takes ${list}`, { allow: list });
}

/** For paths that no binding owns, so there is no dialect to answer in. */
function plainError(status: number, message: string, headers?: HttpHeaders): HttpResponse {
  return jsonResponse(status, JSON.stringify({ error: { code: status, message } }), headers);
}

/** What the guard refuses is answered as JSON-RPC, because that is what its caller expects. */
function refusal(error: A2AError, request: HttpRequest): HttpResponse {
  const headers: HttpHeaders = {
    ...(error.reason === "Unauthenticated" && { "www-authenticate": 'Bearer realm="convoke"' }),
    ...(error.reason === "Unavailable" && { "retry-after": "1" }),
  };
  const text = errorText(null, codecFor(request).encodeError(error));
  return jsonResponse(error.row.http, text, headers);
}

/** The caller's push configs in one state, `dead` unless asked otherwise. No secret is among what is shown. */
async function listPushes(app: App, { query }: HttpRequest, caller: Caller): Promise<HttpResponse> {
  const state = query.get("state") ?? "dead";
  if (!STATES.has(state)) throw invalidParams("state", "must be one of active, done, dead");
  const records = await recordsOf(app, caller, state as PushState);
  return jsonResponse(200, JSON.stringify({ pushes: records.slice(0, MOST).map(shown) }));
}

/** Tries again what was given up: all of it, or that of one task, or one config. */
async function replayPushes(app: App, request: HttpRequest, caller: Caller): Promise<HttpResponse> {
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
