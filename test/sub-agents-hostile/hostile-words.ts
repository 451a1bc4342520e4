import {
  type A2APart,
  type Message,
  type PublicEvent,
  type Task,
  type TaskState,
  agentMessage,
} from "@convoke/protocol";

// What a hostile agent sends about task t1 in context c1.

const ids = { taskId: "t1", contextId: "c1" };

export function aTask(state: TaskState, more: Partial<Task> = {}): Task {
  return { kind: "task", id: ids.taskId, contextId: ids.contextId, status: { state }, ...more };
}

export function aStatus(
  state: TaskState,
  content?: string | readonly A2APart[],
  more: { readonly messageId?: string; readonly taskId?: string } = {},
): PublicEvent {
  const { messageId = crypto.randomUUID(), taskId = ids.taskId } = more;
  const message: Message | undefined =
    content === undefined ? undefined : agentMessage(messageId, content);
  const status = { state, ...(message && { message }) };
  return { kind: "status-update", ...ids, taskId, status, final: false };
}

export function aChunk(content: string | readonly A2APart[], append = true): PublicEvent {
  const parts = typeof content === "string" ? [{ kind: "text", text: content } as const] : content;
  return { kind: "artifact-update", ...ids, artifact: { artifactId: "a1", parts }, append };
}
