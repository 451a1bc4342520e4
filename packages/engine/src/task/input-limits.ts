import { A2AError, type Message, type Task } from "@convoke/protocol";
import type { Limits } from "./limits.ts";

/** Refuses a message that is larger than messages may be. */
export function checkMessageSize({ parts }: Message, limits: Limits): void {
  if (parts.length > limits.parts) {
    throw exceeded("parts", limits, "message.parts", `has ${parts.length} parts`);
  }
  for (const [place, part] of parts.entries()) {
    if (part.kind === "text" && part.text.length > limits.textLength) {
      const field = `message.parts[${place}].text`;
      throw exceeded("textLength", limits, field, `has ${part.text.length} characters`);
    }
  }
}

/** Refuses one more message to a task whose history is full. */
export function checkHistory({ id, history }: Task, limits: Limits): void {
  if ((history?.length ?? 0) < limits.history) return;
  const problem = `is a task with ${history?.length} messages; begin a new one (${id} is full)`;
  throw exceeded("history", limits, "message.taskId", problem);
}

function exceeded(limit: keyof Limits, limits: Limits, field: string, problem: string): A2AError {
  const most = limits[limit];
  return new A2AError("InvalidParams", `${field} ${problem}, the limit ${limit} is ${most}`, {
    field,
    details: { limit, most: String(most) },
  });
}
