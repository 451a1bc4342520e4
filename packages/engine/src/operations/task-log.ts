import {
  type AgentEvent,
  CODECS,
  type GetTaskRequest,
  type StatusUpdateEvent,
  type Task,
  invalidParams,
  isPublic,
  isTerminal,
  withHistoryLength,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { Backend, Seq, TaskRecord } from "../log/backend.ts";
import type { FileView, TaskFiles } from "../files/task-files.ts";
import { type JoinedEntries, joinChunks, loadTask } from "../log/task-snapshot.ts";
import { taskNotFound } from "../run/task-errors.ts";
import type { OwnersCall } from "./list-page.ts";

/** An event of a log, as an observer reads it. */
export interface LoggedEvent {
  /** The position of the first of the chunks that are joined here; absent for a single event. */
  readonly from?: Seq;
  readonly seq: Seq;
  /** When it was committed, in milliseconds since the epoch; absent if that was not stored. */
  readonly at?: number;
  readonly event: AgentEvent;
}

/** Which events of a log an observer reads, and in which form. */
export interface LogView {
  /** Whether to include the internal events: what the agent and the engine have noted for themselves. */
  readonly hasNotes: boolean;
  /** Whether consecutive text chunks of an artifact become one event. They are joined within a page. */
  readonly joinsChunks: boolean;
}

export interface LogPage {
  readonly events: readonly LoggedEvent[];
  /** The last position that was read, shown or not: the next page starts after it. */
  readonly last: Seq;
  /** Whether nothing was stored after the position at which the page starts. */
  readonly isEmpty: boolean;
  /** Whether the task ends in this page. Only events of the same commit can follow. */
  readonly hasEnd: boolean;
}

/** Where a log and its files are. An `Engine` has both. */
export interface LogStorage {
  readonly backend: Pick<Backend, "read">;
  readonly files: Pick<TaskFiles, "show">;
}

export interface LogPageRequest extends LogView {
  /** How the observer gets large files. */
  readonly files?: FileView | undefined;
  readonly after: Seq;
  /** The maximum number of events that are read. */
  readonly limit: number;
  /** The page ends with the event at which it reaches this many characters. */
  readonly maxLength: number;
}

/** Reads a page of a stored log. */
export async function readLogPage(
  { backend, files }: LogStorage,
  taskId: string,
  { after, limit, maxLength, hasNotes, joinsChunks, files: view }: LogPageRequest,
): Promise<LogPage> {
  const stored = await backend.read(taskId, after, limit, maxLength);
  const all = stored.map(({ json, ...place }): LoggedEvent => {
    const event = JSON.parse(json) as AgentEvent;
    return { ...place, event: isPublic(event) ? event : withoutProviderData(event) };
  });
  const shown: LoggedEvent[] = [];
  for (const one of all) {
    if (!hasNotes && !isPublic(one.event)) continue;
    shown.push({ ...one, event: await files.show(one.event, view) });
  }
  return {
    events: joinsChunks ? Array.from(joinChunks(shown), toLogged) : shown,
    last: stored.at(-1)?.seq ?? after,
    isEmpty: stored.length === 0,
    hasEnd: all.some(({ event }) => isEnd(event)),
  };
}

function toLogged({ event, first, last }: JoinedEntries<LoggedEvent>): LoggedEvent {
  return first === last ? last : { from: first.seq, ...last, event };
}

/** An event as JSON on one line. Public events have the form of A2A 0.3. */
export function loggedEventText({ from, seq, at, event }: LoggedEvent): string {
  const place = { from, seq, at: at && new Date(at).toISOString() };
  const json = JSON.stringify(event);
  const text = isPublic(event) ? CODECS["0.3"].eventText(event, json) : json;
  return `${JSON.stringify(place).slice(0, -1)},"event":${text}}`;
}

/** Whether the task has ended with this event. */
function isEnd(event: AgentEvent): boolean {
  if (event.kind === "message") return true;
  return event.kind === "status-update" && isTerminal((event as StatusUpdateEvent).status.state);
}

/** Leaves out what a model provider wants back with the next request, such as signatures of thoughts. */
function withoutProviderData(note: AgentEvent): AgentEvent {
  const { content } = note as { readonly content?: unknown };
  if (note.kind !== "internal:llm-result" || !Array.isArray(content)) return note;
  const shown = content.map((part: unknown) => {
    if (!isObject(part)) return part;
    const { provider: _, ...rest } = part;
    return rest;
  });
  return { ...note, content: shown } as AgentEvent;
}

/** The record of a task of the caller or of one of several owners. Any other looks like an unknown one. */
export async function findTaskRecord(
  taskId: string,
  { engine, agent, caller, owners }: OwnersCall,
): Promise<TaskRecord> {
  const record = await engine.backend.tasks.record(taskId);
  if (record === undefined) throw taskNotFound(taskId);
  const scope = engine.scope(record, agent);
  const isMeant = record.owner === caller.owner || owners?.(record.owner) === true;
  if (!isMeant || scope.agent?.owns(record) === false) throw taskNotFound(taskId);
  return record;
}

/** The task as it was after the event at `at`, and its owner. Reads no more than the log up to there. */
export async function readTaskAt(
  { taskId, historyLength, at }: GetTaskRequest & { readonly at: Seq },
  call: OwnersCall,
): Promise<{ readonly task: Task; readonly owner: string }> {
  const { owner } = await findTaskRecord(taskId, call);
  const { backend, tasks } = call.engine;
  const stored = await tasks.record(taskId, { owner });
  const { head, compacted } = stored;
  if (at < 1 || at > head) throw invalidParams("at", `must be from 1 to ${head}, the last event`);
  if (compacted && at < head) {
    const problem = `must be ${head}: the earlier events were removed some time after the task ended`;
    throw invalidParams("at", problem);
  }
  const { task } = await loadTask(backend, stored, at);
  const shown = withHistoryLength(task, historyLength);
  return { task: await call.engine.files.show(shown, call.files), owner };
}
