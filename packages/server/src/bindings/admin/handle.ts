import type { Caller } from "@convoke/protocol";
import type { App } from "../app.ts";
import type { HttpRequest, HttpResponse } from "../../http/exchange.ts";
import { pathId } from "./admit.ts";
import { handleListAgents, handleSwitch, parseSwitchPath } from "./agents.ts";
import { handleDecision, handleListApprovals, parseApprovalPath } from "./approvals.ts";
import { listPushes, replayPushes, testPush } from "./pushes.ts";
import { handleDeleteTasks, handleGetTask, handleListTasks, parseTaskPath } from "./tasks.ts";

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
  ["/convoke/tasks:delete", { name: "deleteTasks", method: "POST", handle: handleDeleteTasks }],
  [
    "/convoke/erasures",
    {
      name: "eraseData",
      method: "POST",
      handle: async (...call) => (await import("./erasures.ts")).handleErasure(...call),
    },
  ],
  ["/convoke/approvals", { name: "listApprovals", method: "GET", handle: handleListApprovals }],
  ["/convoke/pushes", { name: "listPushes", method: "GET", handle: listPushes }],
  ["/convoke/pushes:replay", { name: "replayPushes", method: "POST", handle: replayPushes }],
]);

/** Finds the operation of a path. Returns `undefined` for other paths, and for what is switched off. */
export function matchAdmin(
  { readApi, switches }: Pick<App, "readApi" | "switches">,
  request: HttpRequest,
): AdminRoute | undefined {
  const known = PATHS.get(request.path);
  if (known !== undefined) return known;
  const read = matchRead(request);
  if (read !== undefined) return readApi ? read : undefined;
  if (switches !== undefined && request.agentPath === undefined) {
    const ofAgents = matchAgents(request);
    if (ofAgents !== undefined) return ofAgents;
  }
  const taskId = parseTaskPath(request);
  if (taskId !== undefined) return getTaskRoute(taskId);
  const approvalId = parseApprovalPath(request);
  if (approvalId === undefined) return undefined;
  return {
    name: "decideApproval",
    method: "POST",
    handle: (app, _, caller) => handleDecision(app, approvalId, { request, caller }),
  };
}

/** The operations on the agents of the server. All agents share them, so they are at the root. */
function matchAgents(request: HttpRequest): AdminRoute | undefined {
  if (request.path === "/convoke/agents") {
    return { name: "listAgents", method: "GET", handle: handleListAgents };
  }
  const change = parseSwitchPath(request);
  return (
    change && {
      name: change.isEnabled ? "enableAgent" : "disableAgent",
      method: "POST",
      handle: (app, _, caller) => handleSwitch(app, change, { request, caller }),
    }
  );
}

function getTaskRoute(taskId: string): AdminRoute {
  return {
    name: "getTask",
    method: "GET",
    handle: (app, request, caller) => handleGetTask(app, taskId, { request, caller }),
  };
}

/**
 * The read API: what the console and other observers read in addition to lists. Its modules are
 * loaded on first use, so that servers without readers do not load them.
 */
const READ_PATHS: ReadonlyMap<string, AdminRoute> = new Map<string, AdminRoute>([
  ["/convoke/pushes:test", { name: "testPush", method: "POST", handle: testPush }],
  [
    "/convoke/grants",
    {
      name: "listGrants",
      method: "GET",
      handle: async (...call) => (await import("./grants.ts")).handleListGrants(...call),
    },
  ],
  [
    "/convoke/feed",
    {
      name: "feed",
      method: "GET",
      handle: async (...call) => (await import("./feed.ts")).handleFeed(...call),
    },
  ],
]);

/** What concerns all agents of a server is at the root only. */
const SERVER_PATHS: ReadonlyMap<string, AdminRoute> = new Map<string, AdminRoute>([
  [
    "/convoke/about",
    {
      name: "describeServer",
      method: "GET",
      handle: async (...call) => (await import("./about.ts")).handleAbout(...call),
    },
  ],
  [
    "/convoke/metrics",
    {
      name: "readMetrics",
      method: "GET",
      handle: async (...call) => (await import("./metrics.ts")).handleMetrics(...call),
    },
  ],
]);

const GRANT_PATH = /^\/convoke\/grants\/(?<id>[^/]+)$/;

const TASK_READ_PATH = /^\/convoke\/tasks\/(?<id>[^/]+)\/(?:log|tree)$/;

function matchRead(request: HttpRequest): AdminRoute | undefined {
  const ofServer = request.agentPath === undefined ? SERVER_PATHS.get(request.path) : undefined;
  const known = READ_PATHS.get(request.path) ?? ofServer;
  if (known !== undefined) return known;
  const taskId = request.query.has("at") ? parseTaskPath(request) : undefined;
  if (taskId !== undefined) return getTaskRoute(taskId);
  const grantId = pathId(GRANT_PATH, request);
  if (grantId !== undefined) return removeGrantRoute(grantId);
  const readId = pathId(TASK_READ_PATH, request);
  if (readId === undefined) return undefined;
  const isLog = request.path.endsWith("/log");
  return {
    name: isLog ? "readLog" : "readTree",
    method: "GET",
    handle: async (app, _, caller) =>
      isLog
        ? (await import("./log.ts")).handleLog(app, readId, { request, caller })
        : (await import("./tree.ts")).handleTree(app, readId, { request, caller }),
  };
}

function removeGrantRoute(id: string): AdminRoute {
  return {
    name: "removeGrant",
    method: "DELETE",
    handle: async (app, request, caller) =>
      (await import("./grants.ts")).handleRemoveGrant(app, id, { request, caller }),
  };
}
