import {
  type Caller,
  EXTENSIONS,
  type InternalEvent,
  type Message,
  type Task,
  type TraceContext,
  type Turn,
  chosenSkill,
} from "@convoke/protocol";
import type { LiveTask } from "./live-task.ts";
import type { Replay } from "./replay.ts";

/** What begins a turn, or begins it anew. */
export interface TurnFacts {
  /** The run that writes. */
  readonly epoch: number;
  /** Which turn of the task, from 1. */
  readonly turn: number;
  readonly attempt: number;
  /** The task as it stood when the turn began. */
  readonly task: Task;
  readonly message: Message;
  readonly conversation: readonly Message[];
  readonly journal: readonly InternalEvent[];
  readonly caller: Caller;
  readonly extensions: ReadonlySet<string>;
  readonly trace?: TraceContext | undefined;
  /** Whether the task is shown to its caller already. */
  readonly announced: boolean;
  /** What an earlier attempt said, when this one goes on from its journal. */
  readonly replay?: Replay;
}

/** The ends of a turn that its run holds. */
interface TurnEnds {
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly park: Turn["park"];
  readonly durable: Turn["durable"];
}

export function createTurn(live: LiveTask, facts: TurnFacts, ends: TurnEnds): Turn {
  const { turn, attempt, task, message, conversation, journal, caller, trace } = facts;
  const { extensions } = facts;
  const skill = extensions.has(EXTENSIONS.skill.uri) ? chosenSkill(message) : undefined;
  let ids = 0;
  return {
    task,
    message,
    conversation,
    journal,
    attempt,
    caller,
    extensions,
    ...(skill !== undefined && { skill }),
    ...(trace && { trace }),
    signal: ends.signal,
    inbox: live.inbox,
    park: ends.park,
    durable: ends.durable,
    now: () => new Date(ends.now()),
    id: () => `${live.writer.taskId}-${turn}-${++ids}`,
  };
}
