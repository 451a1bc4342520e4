import type { Backend } from "@convoke/engine";
import { chunkText } from "./targets/order.ts";

interface OpenTasks {
  readonly tasks: number;
  /** The number of events of each. */
  readonly events: number;
  /** The agent to which they belong. */
  readonly agentId: string;
}

/** The number of commits in which the events of a task were written. */
const COMMITS = 10;

/** Stores tasks as a killed process leaves them: its agent still works on each. */
export async function leaveOpen(
  backend: Backend,
  { tasks, events, agentId }: OpenTasks,
): Promise<void> {
  const statusAt = Date.now();
  const perCommit = Math.ceil(events / COMMITS);
  for (let first = 0; first < events; first += perCommit) {
    const last = Math.min(events, first + perCommit);
    const steps = Array.from({ length: tasks }, (_, task) =>
      appendTo(backend, { task, first, last, statusAt, agentId }),
    );
    await Promise.all(steps);
  }
}

interface Append {
  readonly task: number;
  /** The positions of the events in the log, starting at 0. */
  readonly first: number;
  readonly last: number;
  readonly statusAt: number;
  readonly agentId: string;
}

function appendTo(
  backend: Backend,
  { task, first, last, statusAt, agentId }: Append,
): Promise<unknown> {
  const ids = {
    taskId: `01a1dd92-3a70-7000-8000-${task.toString(16).padStart(12, "0")}`,
    contextId: `01a1dd92-3a70-7000-9000-${task.toString(16).padStart(12, "0")}`,
  };
  const places = Array.from({ length: last - first }, (_, place) => first + place);
  const events = places.map((place) => JSON.stringify(eventAt(place, ids, statusAt)));
  return backend.commit({
    taskId: ids.taskId,
    epoch: 1,
    events,
    state: "working",
    statusAt,
    listed: true,
    ...(first === 0 && {
      create: {
        owner: "anonymous",
        contextId: ids.contextId,
        agent: agentId,
        agentId,
        createdAt: statusAt,
      },
      running: true,
      message: { messageId: `m-${task}`, digest: "" },
    }),
  });
}

function eventAt(
  place: number,
  ids: { readonly taskId: string; readonly contextId: string },
  statusAt: number,
): object {
  const timestamp = new Date(statusAt).toISOString();
  if (place === 0) {
    const parts = [{ kind: "text", text: "begin" }];
    const message = { kind: "message", messageId: "m", role: "user", parts, ...ids };
    const status = { state: "submitted", timestamp };
    const { taskId: id, contextId } = ids;
    return { kind: "task", id, contextId, status, history: [message] };
  }
  if (place === 1) {
    const status = { state: "working", timestamp };
    return { kind: "status-update", ...ids, status, final: false };
  }
  const parts = [{ kind: "text", text: chunkText(place) }];
  const artifact = { artifactId: "answer-1", parts };
  return { kind: "artifact-update", ...ids, artifact, append: place > 2 };
}
