import { type Message, type Task, agentMessage, textOf, textOfParts } from "@convoke/protocol";
import type { Backend, ContextQuery } from "./backend.ts";
import { loadTask } from "./task-snapshot.ts";

/** How many earlier tasks of a context a conversation remembers. */
const MAX_TASKS = 50;

/**
 * The conversation of a context before a task started, oldest first. The results of
 * a task are its artifacts, so they are included as messages of the agent.
 */
export async function conversationBefore(
  backend: Backend,
  context: Omit<ContextQuery, "limit">,
): Promise<readonly Message[]> {
  const records = await backend.tasks.ofContext({ ...context, limit: MAX_TASKS });
  const messages: Message[] = [];
  for (const { taskId } of records.toReversed()) {
    const stored = await backend.tasks.get(taskId);
    if (stored !== undefined) messages.push(...told((await loadTask(backend, stored)).task));
  }
  return messages;
}

/** The messages of a task. */
function told(task: Task): readonly Message[] {
  const parts = (task.artifacts ?? []).flatMap((artifact) => artifact.parts);
  const answer = parts.length === 0 ? [] : [agentMessage(`${task.id}-answer`, parts)];
  const { message } = task.status;
  // An agent may repeat its answer in its last status, see `finalMessage`.
  const repeats = message && parts.length > 0 && textOf(task).endsWith(textOfParts(message.parts));
  const last = message === undefined || repeats ? [] : [message];
  return [...(task.history ?? []), ...answer, ...last];
}
