import type { Caller } from "@convoke/protocol";
import { type CallTreeNode, readCallTree } from "@convoke/engine";
import type { App } from "../app.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../../http/exchange.ts";
import { admit } from "./admit.ts";

/**
 * Returns the call tree that a task belongs to. Where other agents are, and why they cannot be asked,
 * is for operators; for other callers no agent elsewhere is asked, because each request would cost
 * many.
 */
export async function handleTree(
  app: App,
  taskId: string,
  facts: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const admitted = await admit(app, "getTask", { ...facts, params: { taskId } });
  const isOperator = app.isOperator(admitted.caller);
  const call = { engine: app.engine, ...admitted };
  const tree = await readCallTree({ taskId, asksRemotes: isOperator }, call);
  const { rootId, nodes, isTruncated } = tree;
  const shown = nodes.map((node) => nodeToJson(node, isOperator));
  return jsonResponse(200, JSON.stringify({ rootId, nodes: shown, truncated: isTruncated }));
}

function nodeToJson(node: CallTreeNode, isOperator: boolean): object {
  const { createdAt, endedAt, address, problem, ...rest } = node;
  return {
    ...rest,
    ...(createdAt !== undefined && { createdAt: new Date(createdAt).toISOString() }),
    ...(endedAt !== undefined && { endedAt: new Date(endedAt).toISOString() }),
    ...(isOperator && { address, problem }),
  };
}
