import { isObject } from "../internal/json.ts";
import type { Message } from "./message.ts";
import { type Metadata, textOfParts } from "./part.ts";
import { TASK_STATES, type Task, type TaskState, isInterrupted, isTerminal } from "./task.ts";

/** What a call tree shows of a task. */
export interface TaskFacts {
  readonly taskId: string;
  readonly contextId: string;
  /** The name of the agent that works on it. */
  readonly agent?: string;
  /** The id of that agent on its server. */
  readonly agentId?: string;
  readonly state: TaskState;
  /** In milliseconds since the epoch, like `endedAt`. */
  readonly createdAt?: number;
  readonly endedAt?: number;
  /** What the task has used, as its last status reports it. */
  readonly usage?: Metadata;
  /** What it asks its caller and waits for. */
  readonly question?: string;
  /** The tasks that its first message refers to. The task that called it is among them. */
  readonly references: readonly string[];
  readonly calls: readonly TaskCall[];
}

/** A task of another agent that works for a task. */
export interface TaskCall {
  readonly taskId: string;
  readonly contextId: string;
  /** The name of the other agent in the definition of the calling one. */
  readonly agent?: string;
  /** Its state, as far as the calling task has noted it. */
  readonly state?: TaskState;
}

/** The tasks of another agent that this one calls. */
export interface CalledTasks {
  /** Whether the other agent runs in this process, or is asked over the network. */
  readonly where: "here" | "remote";
  /** Where it is asked. Only operators may see it. */
  readonly address?: string;
  /** Finds those that its own tasks have called, by the name in the definition of the other agent. */
  readonly called?: (agent: string | undefined) => CalledTasks | undefined;
  /**
   * Reads a task that works for an owner. Resolves to `undefined` if there is none. Rejects if it
   * cannot be asked, with an error whose text operators see.
   */
  read(
    taskId: string,
    options: { readonly owner: string; readonly signal: AbortSignal },
  ): Promise<TaskFacts | undefined>;
}

/** What a task says about itself, in the form in which a client receives it. */
export function taskFacts({ id, contextId, status, history = [], metadata }: Task): TaskFacts {
  const { state, message, timestamp } = status;
  const usage = metadata?.["usage"];
  const question = message && isInterrupted(state) ? textOfParts(message.parts) : "";
  const endedAt = timestamp !== undefined && isTerminal(state) ? Date.parse(timestamp) : Number.NaN;
  return {
    taskId: id,
    contextId,
    state,
    ...(!Number.isNaN(endedAt) && { endedAt }),
    ...(isObject(usage) && { usage }),
    ...(question !== "" && { question }),
    references: history[0]?.referenceTaskIds ?? [],
    calls: joinCalls([...history, ...(message ? [message] : [])].flatMap(callIn)),
  };
}

/** The call that a status of an agent loop reports. Another agent may have written it. */
export function callIn({ metadata }: Pick<Message, "metadata">): readonly TaskCall[] {
  const reported = metadata?.["subAgent"];
  if (!isObject(reported)) return [];
  const { taskId, contextId, name, state: given } = reported;
  if (!isId(taskId) || !isId(contextId)) return [];
  const state = TASK_STATES.find((one) => one === given);
  return [{ taskId, contextId, ...(isId(name) && { agent: name }), ...(state && { state }) }];
}

/** One call for each task, with the newest state. */
export function joinCalls(reported: readonly TaskCall[]): readonly TaskCall[] {
  const calls = new Map<string, TaskCall>();
  for (const call of reported) calls.set(call.taskId, { ...calls.get(call.taskId), ...call });
  return [...calls.values()];
}

const MAX_ID = 256;

function isId(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID;
}
