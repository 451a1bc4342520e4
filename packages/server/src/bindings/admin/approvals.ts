import {
  APPROVAL_OPTIONS,
  type ApprovalOption,
  type Caller,
  type Metadata,
  invalidParams,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import {
  type ApprovalDecision,
  type PendingApproval,
  decideApproval,
  listApprovals,
} from "@convoke/engine";
import type { App } from "../app.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import {
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  parseJson,
  requestTrace,
} from "../../http/exchange.ts";
import { admit, parsePageSize, pathId } from "./admit.ts";

const ANSWER_PATH = /^\/convoke\/approvals\/(?<id>[^/]+):answer$/;

/** The approval id in the path of a decision; `undefined` for other paths. */
export function parseApprovalPath(request: HttpRequest): string | undefined {
  return pathId(ANSWER_PATH, request);
}

/** Lists the pending approvals of the caller's tasks, or of all owners. */
export async function handleListApprovals(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const { query } = request;
  const admitted = await admit(app, "listApprovals", { request, caller: identified });
  const pageToken = query.get("pageToken") ?? undefined;
  const page = await listApprovals(
    { pageSize: parsePageSize(query), pageToken },
    { engine: app.engine, ...admitted },
  );
  const approvals = page.approvals.map((pending) => ({
    ...toJson(pending),
    ...(admitted.owners && unscopedOwner(pending.owner)),
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
  const admitted = await admit(app, "decideApproval", { ...facts, params: decision });
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

function toJson({ taskId, contextId, agent, approval }: PendingApproval): object {
  const { id, digest, title, prompt, risk, tool, preview, options, createdAt, expiresAt, from } =
    approval;
  return {
    id,
    taskId,
    contextId,
    agentId: agent?.id,
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
