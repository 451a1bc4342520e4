import type { A2AArtifact } from "../../artifact.ts";
import { A2AError } from "../../errors.ts";
import type { Task, TaskStatus } from "../../task.ts";
import { withKind } from "../with-kind.ts";
import { decodeSentMessage, encodeMessage } from "./message.ts";
import { decodePart, encodePart } from "./part.ts";
import { decodeTaskState } from "./task-state.ts";

/** Writes a task. */
export function encodeTask(task: Task): Task {
  return {
    ...task,
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
    status: decodeStatus(task.status),
    ...(task.history && {
      history: task.history.map((message) => decodeSentMessage(message, "history")),
    }),
    ...(task.artifacts && { artifacts: task.artifacts.map(decodeArtifact) }),
  });
}

export function encodeStatus(status: TaskStatus): TaskStatus {
  return status.message === undefined
    ? status
    : { ...status, message: encodeMessage(status.message) };
}

export function decodeStatus(status: TaskStatus): TaskStatus {
  return {
    ...status,
    state: decodeTaskState(status?.state) ?? "unknown",
    ...(status?.message && { message: decodeSentMessage(status.message, "status.message") }),
  };
}

export function encodeArtifact(artifact: A2AArtifact): A2AArtifact {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

export function decodeArtifact(artifact: A2AArtifact): A2AArtifact {
  return { ...artifact, parts: artifact.parts.map((part) => decodePart(part, "artifact.parts")) };
}
