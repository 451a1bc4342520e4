import { type Signal, signal } from "@preact/signals";
import { CODECS, type Task } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { LoggedEvent } from "./event-log.ts";
import { type LogLine, TaskLog, parseLine } from "./task-log.ts";

/** Takes the place of a task id in the address of a log that was read from a file. */
export const FILE_ID = "file";

/** The log that was opened last. It is kept in memory only. */
export const openedFile: Signal<TaskLog | undefined> = signal(undefined);

interface FileLine extends Partial<LogLine> {
  readonly taskId?: string;
  readonly task?: unknown;
}

/**
 * Opens a log in the format of `convoke export`: a line with the task, then a line for each event.
 * Of a file with several tasks, the first one. Throws if it has no events.
 */
export function openLogFile(text: string): void {
  const lines = text.split("\n").flatMap(parseFileLine);
  const first = lines.find(({ event }) => event !== undefined);
  if (first === undefined) {
    throw new Error(
      'This file has no events. Export the log of a task here or with "convoke export".',
    );
  }
  const own = lines.filter(({ taskId }) => taskId === first.taskId);
  const entries = own.flatMap((line) => (isEvent(line) ? parseLine(line) : []));
  openedFile.value = createLog(entries, findTask(lines, first.taskId));
}

function parseFileLine(line: string): readonly FileLine[] {
  if (line.trim() === "") return [];
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? [value] : [];
  } catch {
    // An export that was interrupted ends in the middle of a line.
    return [];
  }
}

function isEvent(line: FileLine): line is FileLine & LogLine {
  const { seq, event } = line;
  return typeof seq === "number" && isObject(event) && typeof event["kind"] === "string";
}

function findTask(lines: readonly FileLine[], taskId: string | undefined): Task | undefined {
  const tasks = lines.map(({ task }) => task).filter(isObject);
  const own = tasks.findLast((task) => taskId === undefined || task["id"] === taskId);
  return own === undefined ? undefined : CODECS["0.3"].decodeTask(own);
}

function createLog(entries: readonly LoggedEvent[], given: Task | undefined): TaskLog {
  const { seq: head } = entries.at(-1)!;
  const isWhole = entries.every(({ from }, place) => from === (entries[place - 1]?.seq ?? 0) + 1);
  const begin = entries[0]!.event;
  const isComplete = isWhole && begin.kind === "task";
  const task = given ?? (begin.kind === "task" ? (begin as Task) : undefined);
  if (task === undefined) throw new Error("This file does not have the task of its events.");
  const log = new TaskLog(FILE_ID);
  const { id, contextId, status } = task;
  const facts = { id, contextId, agent: "", state: status.state, head };
  log.show(entries, { ...facts, ...(!isComplete && { compacted: true }) }, task);
  return log;
}
