import {
  type AgentEvent,
  type Message,
  type Metadata,
  TASK_METADATA,
  type Task,
  type TaskState,
  isTerminal,
  mayFollow,
} from "@convoke/protocol";
import { isDeepStrictEqual } from "node:util";
import { areSameParts } from "../files/file-parts.ts";

/**
 * The events that lead from a task as it is to the one that an agent has published: artifacts that are
 * new or different, messages of the agent that the history lacks, then metadata and the status. An
 * agent that begins with its task as it got it adds nothing. What the snapshot leaves out stays.
 *
 * @param state the state with what is written and not stored yet
 */
export function eventsLeadingTo(
  snapshot: Task,
  task: Task,
  state: TaskState,
): readonly AgentEvent[] {
  checkSnapshot(snapshot, task);
  const { id: taskId, contextId } = task;
  const artifacts = (snapshot.artifacts ?? []).flatMap((artifact): readonly AgentEvent[] => {
    const earlier = task.artifacts?.find((one) => one.artifactId === artifact.artifactId);
    if (earlier !== undefined && areSameParts(earlier.parts, artifact.parts)) return [];
    const flags = { append: false, lastChunk: true };
    return [{ kind: "artifact-update", taskId, contextId, artifact, ...flags }];
  });
  const said = unknownMessages(snapshot, task).map((message) =>
    statusEvent(task, { state: "working", message }),
  );
  return [...artifacts, ...said, ...closing(snapshot, task, said.length > 0 ? "working" : state)];
}

/** The status of the snapshot, with the metadata that the task lacks, if they say anything new. */
function closing(snapshot: Task, task: Task, state: TaskState): readonly AgentEvent[] {
  const { status } = snapshot;
  const added = Object.entries(snapshot.metadata ?? {}).filter(
    ([name, value]) => !isDeepStrictEqual(value, task.metadata?.[name]),
  );
  const metadata = added.length > 0 ? { [TASK_METADATA]: Object.fromEntries(added) } : undefined;
  // The agent may have moved on since it copied the task that it publishes.
  const isStale = status.state === state || !mayFollow(state, status.state);
  if (!isStale || !isKnown(task, status.message)) return [statusEvent(task, status, metadata)];
  return metadata === undefined ? [] : [statusEvent(task, { state }, metadata)];
}

function statusEvent(
  { id: taskId, contextId }: Task,
  { state, message }: { readonly state: TaskState; readonly message?: Message | undefined },
  metadata?: Metadata,
): AgentEvent {
  const status = { state, ...(message && { message }) };
  const more = metadata && { metadata };
  return { kind: "status-update", taskId, contextId, status, final: isTerminal(state), ...more };
}

/** Messages of the agent in the history of the snapshot that the task does not have. */
function unknownMessages({ history = [], status }: Task, task: Task): readonly Message[] {
  const unknown = history.filter(
    (message) => message.messageId !== status.message?.messageId && !isKnown(task, message),
  );
  const foreign = unknown.find(({ role }) => role !== "agent");
  if (foreign === undefined) return unknown;
  const id = JSON.stringify(foreign.messageId);
  throw new TypeError(
    `the history of a task event has a message of the caller that was not sent: ${id}`,
  );
}

function isKnown({ history = [], status }: Task, message: Message | undefined): boolean {
  if (message === undefined) return true;
  const { messageId } = message;
  return [...history, status.message].some((one) => one?.messageId === messageId);
}

function checkSnapshot({ id, contextId, status }: Task, task: Task): void {
  if (id !== task.id) {
    throw new TypeError(`a task event has the id ${JSON.stringify(id)} in the task ${task.id}`);
  }
  if (contextId !== task.contextId) {
    const given = JSON.stringify(contextId);
    throw new TypeError(`a task event has the contextId ${given} in the context ${task.contextId}`);
  }
  const message = status?.message as unknown;
  if (typeof status?.state !== "string") throw new TypeError("a task event has no status.state");
  if (message !== undefined && !Array.isArray((message as Message | null)?.parts)) {
    throw new TypeError("status.message of a task event is no message: it has no parts");
  }
}
