import type { A2AArtifact } from "../../artifact.ts";
import { A2AError } from "../../errors.ts";
import type { Task, TaskStatus } from "../../task.ts";
import { withKind } from "../with-kind.ts";
import { decodeSentMessage, encodeMessage } from "./message.ts";
import { decodePart, encodePart } from "./part.ts";
import { fieldsOf, shapeOf } from "./proto-fields.ts";
import { decodeTaskState, encodeTaskState } from "./task-state.ts";

const TASK = shapeOf(["id", "contextId", "status", "artifacts", "history", "metadata"]);
const STATUS = shapeOf(["state", "message", "timestamp"], { aliases: { update: "message" } });
const ARTIFACT = shapeOf(["artifactId", "name", "description", "parts", "metadata", "extensions"]);

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
  const task = fieldsOf(value, TASK) as Task | undefined;
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

/** The message is called `update` in the proto, and `message` in its JSON. */
export function encodeStatus(status: TaskStatus): object {
  return {
    ...status,
    state: encodeTaskState(status.state),
    ...(status.message && { message: encodeMessage(status.message) }),
  };
}

export function decodeStatus(value: unknown): TaskStatus {
  const status = fieldsOf(value, STATUS) as Partial<TaskStatus> | undefined;
  return {
    ...status,
    state: decodeTaskState(status?.state) ?? "unknown",
    ...(status?.message && { message: decodeSentMessage(status.message, "status.message") }),
  };
}

export function encodeArtifact(artifact: A2AArtifact): object {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

/** ProtoJSON leaves out what is empty. */
export function decodeArtifact(value: unknown): A2AArtifact {
  const artifact = fieldsOf(value, ARTIFACT) as Partial<A2AArtifact> | undefined;
  return {
    ...artifact,
    artifactId: artifact?.artifactId ?? "",
    parts: (artifact?.parts ?? []).map((part) => decodePart(part, "artifact.parts")),
  };
}
