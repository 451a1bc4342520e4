import {
  APPROVAL_OPTIONS,
  type ApprovalOption,
  type Caller,
  type Metadata,
  invalidParams,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { App } from "./app.ts";
import type { AdminOperation } from "../guard/authorize.ts";
import { scopedCaller } from "../guard/guard.ts";
import { type OwnerFilter, ownersFor } from "../guard/roles.ts";
import {
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  parseJson,
  requestTrace,
} from "../http/exchange.ts";
import {
  type ApprovalDecision,
  type PendingApproval,
  type PushPosition,
  type PushRecord,
  type PushState,
  decideApproval,
  listApprovals,
  readTarget,
} from "@convoke/engine";

/** Where callers see the state of their push deliveries. Not part of A2A, which has no such operation. */
export const PUSHES_PATH = "/convoke/pushes";

export const REPLAY_PATH = "/convoke/pushes:replay";

/** Where callers see the pending approvals of all their tasks. Not part of A2A, which has no such operation. */
export const APPROVALS_PATH = "/convoke/approvals";
const ANSWER_PATH = /^\/convoke\/approvals\/(?<id>[^/]+):answer$/;

/** The approval id in the path of a decision; `undefined` for other paths. */
export function parseApprovalPath({ path }: HttpRequest): string | undefined {
  const encoded = ANSWER_PATH.exec(path)?.groups?.["id"];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    throw invalidParams("id", "is not percent-encoded UTF-8 in the path");
  }
}

/** Lists the pending approvals of the caller's tasks, or of all owners. */
export async function handleListApprovals(
  app: App,
  { query }: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const { caller, owners } = await admit(app, "listApprovals", { query, caller: identified });
  const pageToken = query.get("pageToken") ?? undefined;
  const page = await listApprovals(
    { pageSize: parsePageSize(query), pageToken },
    { engine: app.engine, caller, owners },
  );
  const approvals = page.approvals.map((pending) => ({
    ...toJson(pending),
    ...(owners && { owner: pending.owner }),
  }));
  return jsonResponse(200, JSON.stringify({ approvals, nextPageToken: page.nextPageToken }));
}

/** Decides a pending approval. */
export async function handleDecision(
  app: App,
  approvalId: string,
  facts: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const { request } = facts;
  const decision = parseDecision(await request.body(), approvalId);
  const { query } = request;
  const admitted = await admit(app, "decideApproval", { query, caller: facts.caller }, decision);
  const { taskId, contextId, owner } = await decideApproval(decision, {
    engine: app.engine,
    ...admitted,
    trace: requestTrace(request),
  });
  const by = admitted.caller.owner;
  if (owner !== by) {
    app.logger.info("an approval of another owner was decided", { taskId, approvalId, owner, by });
  }
  const answer = { id: approvalId, taskId, contextId, decision: decision.option };
  return jsonResponse(200, JSON.stringify(answer));
}

/** Who calls, and whose tasks the request is about. */
interface Admitted {
  /** Within its tenant. */
  readonly caller: Caller;
  /** Absent for the caller's own tasks. */
  readonly owners: OwnerFilter | undefined;
}

/** Checks that a caller may perform an operation, in the tenant and for the owners that the query names. */
async function admit(
  { tenants, authorization, roles }: App,
  operation: AdminOperation,
  asking: { readonly query: URLSearchParams; readonly caller: Caller },
  request?: unknown,
): Promise<Admitted> {
  const { query } = asking;
  const caller = scopedCaller(asking.caller, query.get("tenant") ?? undefined, tenants);
  await authorization.check(caller, operation, request);
  return { caller, owners: ownersFor(caller, operation, { asked: query.get("owner"), roles }) };
}

const MAX_PAGE = 100;

const PAGE = 50;

function parsePageSize(query: URLSearchParams): number {
  const size = Number(query.get("pageSize") ?? PAGE);
  if (Number.isInteger(size) && size >= 1 && size <= MAX_PAGE) return size;
  throw invalidParams("pageSize", `must be a whole number from 1 to ${MAX_PAGE}`);
}

/** Parses a decision. The answer itself is validated with the message that it becomes. */
function parseDecision(body: Uint8Array, approvalId: string): ApprovalDecision {
  const value = body.length === 0 ? undefined : parseJson(body);
  if (!isObject(value)) {
    throw invalidParams("body", 'must be an object such as {"decision": "once"}');
  }
  const { decision, arguments: edited, ...rest } = value;
  const texts = { feedback: rest["feedback"], digest: rest["digest"], taskId: rest["taskId"] };
  for (const [name, given] of Object.entries(texts)) {
    if (given !== undefined && typeof given !== "string") {
      throw invalidParams(name, "must be a string");
    }
  }
  return {
    approvalId,
    option: parseOption(decision),
    ...(edited !== undefined && { arguments: edited as Metadata }),
    ...Object.fromEntries(Object.entries(texts).filter(([, given]) => given !== undefined)),
  };
}

function parseOption(decision: unknown): ApprovalOption {
  const option = APPROVAL_OPTIONS.find((one) => one === decision);
  if (option !== undefined) return option;
  throw invalidParams("decision", `must be one of ${APPROVAL_OPTIONS.join(", ")}`);
}

function toJson({ taskId, contextId, approval }: PendingApproval): object {
  const { id, digest, title, prompt, risk, tool, preview, options, createdAt, expiresAt, from } =
    approval;
  return {
    id,
    taskId,
    contextId,
    title,
    from,
    prompt,
    risk,
    tool: tool.name,
    arguments: tool.arguments,
    digest,
    preview,
    options,
    createdAt,
    expiresAt,
  };
}

const STATES: ReadonlySet<string> = new Set(["active", "done", "dead"] satisfies PushState[]);

const MAX_SHOWN = 1000;

/** Lists the push configs of the caller or of all owners in one state, by default `dead`, without secrets. */
export async function listPushes(
  app: App,
  { query }: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const admitted = await admit(app, "listPushes", { query, caller });
  const state = query.get("state") ?? "dead";
  if (!STATES.has(state)) throw invalidParams("state", "must be one of active, done, dead");
  const records = await findRecords(app, admitted, state as PushState);
  const pushes = records.slice(0, MAX_SHOWN).map((record) => ({
    ...pushToJson(record),
    ...(admitted.owners && { owner: record.owner }),
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
  const { query } = request;
  const admitted = await admit(app, "replayPushes", { query, caller }, filter);
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
  { caller, owners }: Admitted,
  state: PushState,
): Promise<PushRecord[]> {
  const query = { state, limit: PUSH_PAGE, ...(owners === undefined && { owner: caller.owner }) };
  const all: PushRecord[] = [];
  for (let after: PushPosition | undefined; ;) {
    const { pushes } = app.engine.backend;
    const page = await pushes.list({ ...query, ...(after && { after }) });
    all.push(...page.filter(({ owner }) => owners === undefined || owners(owner)));
    after = page.at(-1);
    if (page.length < PUSH_PAGE) return all;
  }
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
