import type { Caller } from "@convoke/protocol";
import type { App } from "../app.ts";
import type { HttpRequest, HttpResponse } from "../../http/exchange.ts";
import { handleDecision, handleListApprovals, parseApprovalPath } from "./approvals.ts";
import { listPushes, replayPushes } from "./pushes.ts";
import { handleGetTask, handleListTasks, parseTaskPath } from "./tasks.ts";

/** An operation under `/convoke/`. None of them is part of A2A, which has no such operations. */
export interface AdminRoute {
  /** Its name in metrics. */
  readonly name: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** All methods of its path. Default: only `method`. */
  readonly methods?: readonly string[];
  handle(app: App, request: HttpRequest, caller: Caller): Promise<HttpResponse>;
}

const PATHS: ReadonlyMap<string, AdminRoute> = new Map<string, AdminRoute>([
  ["/convoke/tasks", { name: "listTasks", method: "GET", handle: handleListTasks }],
  ["/convoke/approvals", { name: "listApprovals", method: "GET", handle: handleListApprovals }],
  ["/convoke/pushes", { name: "listPushes", method: "GET", handle: listPushes }],
  ["/convoke/pushes:replay", { name: "replayPushes", method: "POST", handle: replayPushes }],
]);

/** Finds the operation of a path. Returns `undefined` for other paths. */
export function matchAdmin(request: HttpRequest): AdminRoute | undefined {
  const known = PATHS.get(request.path);
  if (known !== undefined) return known;
  const taskId = parseTaskPath(request);
  if (taskId !== undefined) {
    const handle: AdminRoute["handle"] = (app, _, caller) =>
      handleGetTask(app, taskId, { request, caller });
    return { name: "getTask", method: "GET", handle };
  }
  const approvalId = parseApprovalPath(request);
  if (approvalId === undefined) return undefined;
  const handle: AdminRoute["handle"] = (app, _, caller) =>
    handleDecision(app, approvalId, { request, caller });
  return { name: "decideApproval", method: "POST", handle };
}
