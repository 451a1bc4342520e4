import { CODECS, type Caller, TASK_STATES, type TaskState, invalidParams } from "@convoke/protocol";
import { type TaskSummary, listTaskSummaries, readTask, readTaskAt } from "@convoke/engine";
import type { App } from "../app.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../../http/exchange.ts";
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
  const call = { engine: app.engine, ...admitted };
  const { task, owner } =
    at === undefined ? await readTask(params, call) : await readTaskAt({ ...params, at }, call);
  const body = { ...unscopedOwner(owner), task: CODECS["0.3"].encodeTask(task) };
  return jsonResponse(200, JSON.stringify(body));
}
