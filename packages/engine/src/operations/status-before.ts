import type { StatusUpdateEvent, Task, TaskState } from "@convoke/protocol";
import type { Backend, Seq } from "../log/backend.ts";

const PAGE = 256;

/** Events that set a status begin so, which spares reading the others. */
const SETS_STATUS = /^\{"kind":"(?:status-update|task)"/;

/** The status that a task had at some time, and since when, looked up in its log from the end. */
export async function statusBefore(
  backend: Backend,
  { taskId, head, at }: { readonly taskId: string; readonly head: Seq; readonly at: number },
): Promise<{ readonly state: TaskState; readonly statusAt: number } | undefined> {
  for (let end = head; end > 0;) {
    const start = Math.max(0, end - PAGE);
    const page = await backend.read(taskId, start, end - start);
    for (const { json } of page.toReversed()) {
      if (!SETS_STATUS.test(json)) continue;
      const { status } = JSON.parse(json) as StatusUpdateEvent | Task;
      const statusAt = Date.parse(status.timestamp ?? "");
      if (statusAt <= at) return { state: status.state, statusAt };
    }
    end = start;
  }
  return undefined;
}
