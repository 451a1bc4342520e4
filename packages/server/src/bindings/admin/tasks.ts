import { CODECS, type Caller, TASK_STATES, type TaskState, invalidParams } from "@convoke/protocol";
import { type TaskRecord, listTaskRecords, readTask } from "@convoke/engine";
import type { App } from "../app.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../../http/exchange.ts";
import { admit, parsePageSize, pathId } from "./admit.ts";

const TASK_PATH = /^\/convoke\/tasks\/(?<id>[^/]+)$/;

/** The task id in the path of a task; `undefined` for other paths. */
export function parseTaskPath(request: HttpRequest): string | undefined {
  return pathId(TASK_PATH, request);
}

/** Lists the tasks of the caller or of all owners, without their content. */
export async function handleListTasks(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const params = parseListRequest(request.query);
  const admitted = await admit(app, "listTasks", { request, caller: identified, params });
  const page = await listTaskRecords(params, { engine: app.engine, ...admitted });
  const tasks = page.records.map(recordToJson);
  return jsonResponse(200, JSON.stringify({ tasks, nextPageToken: page.nextPageToken }));
}

function parseListRequest(query: URLSearchParams) {
  const contextId = query.get("contextId") ?? undefined;
  const state = parseState(query.get("status") ?? undefined);
  const pageToken = query.get("pageToken") ?? undefined;
  return {
    pageSize: parsePageSize(query),
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
    ...(pageToken !== undefined && { pageToken }),
  };
}

function parseState(given: string | undefined): TaskState | undefined {
  const state = TASK_STATES.find((name) => name === given);
  if (given === undefined || state !== undefined) return state;
  throw invalidParams("status", `must be one of ${TASK_STATES.join(", ")}`);
}

function recordToJson(record: TaskRecord): object {
  const { taskId, contextId, agent, agentId, state, statusAt, createdAt, owner } = record;
  return {
    id: taskId,
    contextId,
    ...unscopedOwner(owner),
    agent,
    agentId,
    status: { state, timestamp: new Date(statusAt).toISOString() },
    createdAt: new Date(createdAt).toISOString(),
  };
}

/** Returns a task of the caller or of any owner, in the form of A2A 0.3. */
export async function handleGetTask(
  app: App,
  taskId: string,
  facts: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const historyLength = parseHistoryLength(facts.request.query.get("historyLength"));
  const params = { taskId, ...(historyLength !== undefined && { historyLength }) };
  const admitted = await admit(app, "getTask", { ...facts, params });
  const { task, owner } = await readTask(params, { engine: app.engine, ...admitted });
  const body = { ...unscopedOwner(owner), task: CODECS["0.3"].encodeTask(task) };
  return jsonResponse(200, JSON.stringify(body));
}

function parseHistoryLength(given: string | null): number | undefined {
  if (given === null) return undefined;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw invalidParams("historyLength", "must be a whole number, 0 or more");
}
