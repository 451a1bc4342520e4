import { type Task, applyEvent } from "@convoke/protocol";
import type { Dialect } from "../wire/dialect.ts";
import { type Frame, eventsOf } from "../wire/wire-stream.ts";

/** The task that the frames of a stream produce. */
export function foldOf(frames: readonly Frame[], dialect: Dialect): Task {
  let task: Task | undefined;
  for (const event of eventsOf(frames, dialect)) task = applyEvent(task, event);
  if (task === undefined) throw new Error("There are no frames.");
  return task;
}
