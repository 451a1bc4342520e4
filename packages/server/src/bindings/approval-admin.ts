import {
  APPROVAL_OPTIONS,
  type ApprovalOption,
  type Caller,
  type Metadata,
  invalidParams,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { App } from "./app.ts";
import { scopedCaller } from "../guard/guard.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../http/exchange.ts";
import { parseJson } from "../http/body.ts";
import { requestTrace } from "../http/request-headers.ts";
import {
  type ApprovalDecision,
  decideApproval,
  listApprovals,
  type PendingApproval,
} from "@convoke/engine";

/** Where callers see the pending approvals of all their tasks. Not part of A2A, which has no such operation. */
export const APPROVALS_PATH = "/convoke/approvals";
const ANSWER_PATH = /^\/convoke\/approvals\/(?<id>[^/]+):answer$/;

const PAGE = 50;
const MAX_PAGE = 100;

/** The approval id in the path of a decision; `undefined` for other paths. */
export function parseApprovalPath({ path }: HttpRequest): string | undefined {
  const encoded = ANSWER_PATH.exec(path)?.groups?.["id"];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    throw invalidParams("id", "is not percent-encoded UTF-8 in the path");
  }
}

/** Lists the pending approvals of the caller's tasks. */
export async function handleListApprovals(
  app: App,
  { query }: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const pageToken = query.get("pageToken") ?? undefined;
  const page = await listApprovals(
    { pageSize: parsePageSize(query), pageToken },
    { engine: app.engine, caller: tenantCaller(app, query, caller) },
  );
  const approvals = page.approvals.map(toJson);
  return jsonResponse(200, JSON.stringify({ approvals, nextPageToken: page.nextPageToken }));
}

/** Decides a pending approval. */
export async function handleDecision(
  app: App,
  approvalId: string,
  facts: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const { request, caller } = facts;
  const decision = parseDecision(await request.body(), approvalId);
  const { taskId, contextId } = await decideApproval(decision, {
    engine: app.engine,
    caller: tenantCaller(app, request.query, caller),
    trace: requestTrace(request),
  });
  const answer = { id: approvalId, taskId, contextId, decision: decision.option };
  return jsonResponse(200, JSON.stringify(answer));
}

function tenantCaller({ tenants }: App, query: URLSearchParams, caller: Caller): Caller {
  return scopedCaller(caller, query.get("tenant") ?? undefined, tenants);
}

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
