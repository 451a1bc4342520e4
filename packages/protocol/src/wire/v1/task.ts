import type { A2AArtifact } from "../../artifact.ts";
import { A2AError } from "../../errors.ts";
import type { TaskPage } from "../../requests.ts";
import type { Task, TaskStatus } from "../../task.ts";
import { withKind } from "../with-kind.ts";
import { decodeSentMessage, encodeMessage } from "./message.ts";
import { decodePart, encodePart } from "./part.ts";
import { decodeSentState, encodeTaskState } from "./task-state.ts";

/** Writes a task. */
export function encodeTask(task: Task): object {
  const { kind: _, ...rest } = task;
  return {
    ...rest,
    status: encodeStatus(task.status),
    ...(task.history && { history: task.history.map(encodeMessage) }),
    ...(task.artifacts && { artifacts: task.artifacts.map(encodeArtifact) }),
  };
}

/** Reads a task that a server sent. Lenient: what is missing stays missing. */
export function decodeTask(value: unknown): Task {
  const task = value as Task;
  if (typeof task?.id !== "string") {
    throw new A2AError("InvalidAgentResponse", "the task has no id");
  }
  return withKind("task", {
    ...task,
    contextId: task.contextId ?? "",
    status: decodeStatus(task.status),
    ...(task.history && {
      history: task.history.map((message) => decodeSentMessage(message, "history")),
    }),
    ...(task.artifacts && { artifacts: task.artifacts.map(decodeArtifact) }),
  });
}

export function encodeStatus(status: TaskStatus): object {
  return {
    ...status,
    state: encodeTaskState(status.state),
    ...(status.message && { message: encodeMessage(status.message) }),
  };
}

export function decodeStatus(status: TaskStatus): TaskStatus {
  return {
    ...status,
    state: decodeSentState(status?.state),
    ...(status?.message && { message: decodeSentMessage(status.message, "status.message") }),
  };
}

export function encodeArtifact(artifact: A2AArtifact): object {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

/** ProtoJSON leaves out what is empty. */
export function decodeArtifact(
  artifact: Omit<A2AArtifact, "parts"> & Partial<A2AArtifact>,
): A2AArtifact {
  const { parts = [] } = artifact;
  return { ...artifact, parts: parts.map((part) => decodePart(part, "artifact.parts")) };
}

/** All four fields are always there; `artifacts` only when asked for, and then even if empty (1.0 §3.1.4). */
export function encodeTaskPage(page: TaskPage, includeArtifacts: boolean): object {
  const tasks = page.tasks.map((task) => {
    const { artifacts, ...rest } = task;
    return encodeTask(includeArtifacts ? { ...rest, artifacts: artifacts ?? [] } : rest);
  });
  return { ...page, tasks };
}

export function decodeTaskPage(value: unknown): TaskPage {
  const page = value as Partial<TaskPage>;
  return {
    tasks: (page.tasks ?? []).map(decodeTask),
    nextPageToken: page.nextPageToken ?? "",
    pageSize: page.pageSize ?? 0,
    totalSize: page.totalSize ?? 0,
  };
}
