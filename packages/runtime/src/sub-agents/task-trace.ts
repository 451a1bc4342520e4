import type { TraceContext, Turn } from "@convoke/protocol";
import { createHash } from "node:crypto";

/**
 * The trace that everything belongs to which a task has others do: that of its caller, or one that
 * follows from its id, so that it is the same in every attempt.
 */
export function taskTrace({ trace, task }: Pick<Turn, "trace" | "task">): TraceContext {
  if (trace !== undefined) return trace;
  const digest = createHash("sha256").update(task.id).digest("hex");
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}
