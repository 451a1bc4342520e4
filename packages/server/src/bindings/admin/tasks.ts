import { CODECS, type Caller, TASK_STATES, type TaskState, invalidParams } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import {
  type DeleteTasksRequest,
  type TaskSummary,
  deleteTasks,
  listTaskSummaries,
  readTask,
  readTaskAt,
} from "@convoke/engine";
import type { App } from "../app.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import {
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  parseJson,
} from "../../http/exchange.ts";
import { admit, parsePageSize, parseWhole, pathId } from "./admit.ts";

const TASK_PATH = /^\/convoke\/tasks\/(?<id>[^/]+)$/;

/** The task id in the path of a task; `undefined` for other paths. */
export function parseTaskPath(request: HttpRequest): string | undefined {
  return pathId(TASK_PATH, request);
}

/** Lists the tasks of the caller or of all owners: their state, their first words and their usage. */
export async function handleListTasks(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const params = parseListRequest(request.query);
  const admitted = await admit(app, "listTasks", { request, caller: identified, params });
  const page = await listTaskSummaries(params, { engine: app.engine, ...admitted });
  const tasks = page.tasks.map(summaryToJson);
  return jsonResponse(200, JSON.stringify({ tasks, nextPageToken: page.nextPageToken }));
}

function parseListRequest(query: URLSearchParams) {
  const contextId = query.get("contextId") ?? undefined;
  const state = parseState(query.get("status") ?? undefined);
  const idPrefix = query.get("idPrefix") ?? undefined;
  const pageToken = query.get("pageToken") ?? undefined;
  return {
    pageSize: parsePageSize(query),
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
    ...(idPrefix !== undefined && { idPrefix }),
    ...(pageToken !== undefined && { pageToken }),
  };
}

function parseState(given: string | undefined): TaskState | undefined {
  const state = TASK_STATES.find((name) => name === given);
  if (given === undefined || state !== undefined) return state;
  throw invalidParams("status", `must be one of ${TASK_STATES.join(", ")}`);
}

function summaryToJson({ record, firstWords, usage }: TaskSummary): object {
  const { taskId, contextId, agent, agentId, state, statusAt, createdAt, owner, head } = record;
  return {
    id: taskId,
    contextId,
    ...unscopedOwner(owner),
    agent,
    agentId,
    status: { state, timestamp: new Date(statusAt).toISOString() },
    createdAt: new Date(createdAt).toISOString(),
    head,
    firstWords,
    usage,
  };
}

/** Returns a task of the caller or of any owner, now or as it was at an event, in the form of A2A 0.3. */
export async function handleGetTask(
  app: App,
  taskId: string,
  facts: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const { query } = facts.request;
  const historyLength = parseWhole(query, "historyLength");
  const at = parseWhole(query, "at");
  const params = { taskId, ...(historyLength !== undefined && { historyLength }) };
  const admitted = await admit(app, "getTask", { ...facts, params });
  const call = { engine: app.engine, files: app.fileView(facts.request), ...admitted };
  const { task, owner } =
    at === undefined ? await readTask(params, call) : await readTaskAt({ ...params, at }, call);
  const body = { ...unscopedOwner(owner), task: CODECS["0.3"].encodeTask(task) };
  return jsonResponse(200, JSON.stringify(body));
}

/** How many tasks one request deletes at most. */
const MAX_DELETED = 100;

/** Deletes tasks of the caller or of any owner: all that are named, or none. */
export async function handleDeleteTasks(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const params = parseDeleteRequest(parseJson(await request.body()));
  const admitted = await admit(app, "deleteTasks", { request, caller: identified, params });
  const records = await deleteTasks(params, { engine: app.engine, ...admitted });
  const deleted = records.map(({ taskId }) => taskId);
  app.audit.record("task.deleted", {
    requestId: request.id,
    ...unscopedOwner(admitted.caller.owner),
    taskIds: deleted,
  });
  return jsonResponse(200, JSON.stringify({ deleted }));
}

function parseDeleteRequest(body: unknown): DeleteTasksRequest {
  const { taskIds, cancel } = isObject(body) ? body : {};
  const isList = Array.isArray(taskIds) && taskIds.every((id) => typeof id === "string");
  if (!isList || taskIds.length === 0 || taskIds.length > MAX_DELETED) {
    throw invalidParams("taskIds", `must be a list of 1 to ${MAX_DELETED} ids of tasks`);
  }
  if (cancel !== undefined && typeof cancel !== "boolean") {
    throw invalidParams("cancel", "must be true or false");
  }
  return { taskIds, ...(cancel !== undefined && { cancel }) };
}
