import {
  APPROVAL_OPTIONS,
  type ApprovalOption,
  type Caller,
  type Metadata,
  invalidParams,
} from "@convoke/protocol";
import type { App } from "../app.ts";
import { scopedCaller } from "../guard/tenant.ts";
import { type HttpRequest, type HttpResponse } from "../http/exchange.ts";
import { jsonResponse } from "../http/json-response.ts";
import { parseJson } from "../http/parse-json.ts";
import { requestTrace } from "../http/trace-context.ts";
import {
  type ApprovalDecided,
  decideApproval,
  listApprovals,
  type WaitingApproval,
} from "@convoke/engine";

/** Where a caller sees what waits for its decision, in all of its tasks. A2A has no word for that. */
export const APPROVALS_PATH = "/convoke/approvals";
const ANSWER_PATH = /^\/convoke\/approvals\/(?<id>[^/]+):answer$/;

const PAGE = 50;
const LONGEST_PAGE = 100;

/** The id in the path of an answer; nothing for other paths. */
export function answeredApproval({ path }: HttpRequest): string | undefined {
  const written = ANSWER_PATH.exec(path)?.groups?.["id"];
  try {
    return written === undefined ? undefined : decodeURIComponent(written);
  } catch {
    throw invalidParams("id", "is not written as URLs are: after each % come two digits");
  }
}

/** The open approvals of the caller's tasks, page by page. */
export async function showApprovals(
  app: App,
  { query }: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const pageToken = query.get("pageToken") ?? undefined;
  const page = await listApprovals(
    { pageSize: pageSizeOf(query), pageToken },
    { engine: app.engine, caller: callerIn(app, query, caller) },
  );
  const approvals = page.approvals.map(shown);
  return jsonResponse(200, JSON.stringify({ approvals, nextPageToken: page.nextPageToken }));
}

/** Decides on one of them. */
export async function takeDecision(
  app: App,
  approvalId: string,
  facts: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const { request, caller } = facts;
  const decided = decisionIn(await request.body(), approvalId);
  const { taskId, contextId } = await decideApproval(decided, {
    engine: app.engine,
    caller: callerIn(app, request.query, caller),
    trace: requestTrace(request),
  });
  const answer = { id: approvalId, taskId, contextId, decision: decided.option };
  return jsonResponse(200, JSON.stringify(answer));
}

function callerIn({ tenants }: App, query: URLSearchParams, caller: Caller): Caller {
  return scopedCaller(caller, query.get("tenant") ?? undefined, tenants);
}

function pageSizeOf(query: URLSearchParams): number {
  const size = Number(query.get("pageSize") ?? PAGE);
  if (Number.isInteger(size) && size >= 1 && size <= LONGEST_PAGE) return size;
  throw invalidParams("pageSize", `must be a whole number from 1 to ${LONGEST_PAGE}`);
}

/** The words of a body, of which the form of the answer itself is checked with the message. */
function decisionIn(body: Uint8Array, approvalId: string): ApprovalDecided {
  const value = body.length === 0 ? undefined : parseJson(body);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidParams("body", 'must be an object such as {"decision": "once"}');
  }
  const { decision, arguments: edited, ...rest } = value as Readonly<Record<string, unknown>>;
  const texts = { feedback: rest["feedback"], digest: rest["digest"], taskId: rest["taskId"] };
  for (const [name, given] of Object.entries(texts)) {
    if (given !== undefined && typeof given !== "string") {
      throw invalidParams(name, "must be a string");
    }
  }
  return {
    approvalId,
    option: optionOf(decision),
    ...(edited !== undefined && { arguments: edited as Metadata }),
    ...Object.fromEntries(Object.entries(texts).filter(([, given]) => given !== undefined)),
  };
}

function optionOf(decision: unknown): ApprovalOption {
  const option = APPROVAL_OPTIONS.find((one) => one === decision);
  if (option !== undefined) return option;
  throw invalidParams("decision", `must be one of ${APPROVAL_OPTIONS.join(", ")}`);
}

function shown({ taskId, contextId, approval }: WaitingApproval): object {
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
