import {
  type AgentEvent,
  type GetTaskRequest,
  type Message,
  type Metadata,
  type Task,
  type TaskState,
  textOfParts,
  withHistoryLength,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { Backend, TaskRecord } from "../log/backend.ts";
import {
  type OwnersCall,
  PageBudget,
  encodeToken,
  examineTasks,
  parsePosition,
} from "./list-page.ts";
import { findTaskRecord } from "./task-log.ts";

export interface TaskSummariesRequest {
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Only tasks whose id begins with this. They are listed newest first. */
  readonly idPrefix?: string;
  readonly pageSize: number;
  readonly pageToken?: string;
}

/** A task without its content. */
export interface TaskSummary {
  readonly record: TaskRecord;
  /** The beginning of the first message. Empty if it has no text. */
  readonly firstWords: string;
  /** What the task has used, as its last status reports it. Absent if it reports nothing. */
  readonly usage?: Metadata;
}

export interface TaskSummariesPage {
  readonly tasks: readonly TaskSummary[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** How many tasks are examined for one page, whatever the filter is. */
const MAX_TASKS = 1000;

/**
 * A page of the caller's tasks, newest status first, or of the tasks of several owners, newest
 * first. A page can have fewer than `pageSize` tasks, even none, and still not be the last one: a
 * filter that few tasks match would otherwise read all of them for one request.
 */
export async function listTaskSummaries(
  { pageSize, pageToken, ...filter }: TaskSummariesRequest,
  call: OwnersCall,
): Promise<TaskSummariesPage> {
  const { engine } = call;
  const tasks: TaskSummary[] = [];
  const budget = new PageBudget(engine.limits.pageBytes);
  let position = parsePosition(pageToken);
  let examined = 0;
  for await (const { record, isMatch } of examineTasks(call, filter, position)) {
    const isFull = tasks.length >= pageSize || examined >= MAX_TASKS || budget.isSpent;
    if (isFull && position !== undefined) {
      return { tasks, nextPageToken: encodeToken(engine.now(), position) };
    }
    if (isMatch) tasks.push(await summarize(engine.backend, record, budget));
    position = record;
    examined++;
  }
  return { tasks, nextPageToken: "" };
}

const MAX_WORDS = 200;

/** Reads the two ends of the log only, so the cost of a row does not depend on its length. */
async function summarize(
  backend: Backend,
  record: TaskRecord,
  budget: PageBudget,
): Promise<TaskSummary> {
  const { taskId, head } = record;
  const start = await readStartText(backend, record);
  const [last] = await backend.read(taskId, head - 1, 1);
  budget.read({ size: (start?.length ?? 0) + (last?.json.length ?? 0) });
  const usage = last && usageIn(JSON.parse(last.json) as AgentEvent);
  return {
    record,
    firstWords: start === undefined ? "" : firstWords(JSON.parse(start) as Task),
    ...(usage && { usage }),
  };
}

/** The task as it was created or, if its log is compacted, as it ended: both have its first message. */
export async function readStart(backend: Backend, record: TaskRecord): Promise<Task | undefined> {
  const json = await readStartText(backend, record);
  return json === undefined ? undefined : (JSON.parse(json) as Task);
}

async function readStartText(
  backend: Backend,
  { taskId, compacted }: TaskRecord,
): Promise<string | undefined> {
  const [first] = compacted ? [] : await backend.read(taskId, 0, 1);
  return first?.json ?? (await backend.tasks.get(taskId))?.snapshot?.json;
}

function firstWords({ history = [] }: Task): string {
  const message: Message | undefined = history.find(({ role }) => role === "user");
  const text = message === undefined ? "" : textOfParts(message.parts);
  return text.length <= MAX_WORDS ? text : `${text.slice(0, MAX_WORDS).toWellFormed()}…`;
}

/** What a task has used, as a status reports it. */
export function usageIn(event: AgentEvent): Metadata | undefined {
  if (event.kind !== "status-update") return undefined;
  const { metadata } = event as { readonly metadata?: Metadata };
  const usage = metadata?.["usage"];
  return isObject(usage) ? usage : undefined;
}

/** A task of the caller or of one of several owners, and its owner. Any other looks like an unknown one. */
export async function readTask(
  { taskId, historyLength }: GetTaskRequest,
  call: OwnersCall,
): Promise<{ readonly task: Task; readonly owner: string }> {
  const { owner } = await findTaskRecord(taskId, call);
  const { engine, agent } = call;
  const { task } = await engine.tasks.find(taskId, engine.scope({ owner }, agent));
  const shown = withHistoryLength(task, historyLength);
  return { task: await engine.files.show(shown, call.files), owner };
}
