import type { Task } from "@convoke/protocol";
import type { TaskLog } from "../server/task-log.ts";
import type { LogEntry } from "./notes.ts";

/** What each lens is given: the task and its log, at the position of the playhead. */
export interface LensProps {
  readonly log: TaskLog;
  /** The position that is shown. */
  readonly seq: number;
  /** Whether the playhead is at the end, and moves with it. */
  readonly isNow: boolean;
  readonly task: Task;
  /** The events up to the position. */
  readonly entries: readonly LogEntry[];
  /** Moves the playhead; `undefined` is the end. */
  readonly go: (at: number | undefined) => void;
}
