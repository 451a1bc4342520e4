import type { Task } from "@convoke/protocol";

/** Whether an agent says that the cursor leads nowhere, and this task replaces what was read. */
export function isReset({ metadata }: Task): boolean {
  return metadata?.["resumption"] === "reset";
}

/** The task without the mark, which is about the stream and not about the task. */
export function withoutResetMark(task: Task): Task {
  if (!isReset(task)) return task;
  const { metadata: { resumption: _, ...others } = {}, ...rest } = task;
  return Object.keys(others).length === 0 ? rest : { ...rest, metadata: others };
}
