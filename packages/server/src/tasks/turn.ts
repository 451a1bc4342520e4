import type { Caller, Message, TraceContext, Turn } from "@convoke/protocol";
import { Inbox } from "./inbox.ts";
import type { LiveTask } from "./live-task.ts";
import { newId } from "./new-id.ts";

/** What begins a turn. */
export interface TurnFacts {
  readonly epoch: number;
  readonly message: Message;
  readonly conversation: readonly Message[];
  readonly caller: Caller;
  readonly trace?: TraceContext | undefined;
  /** Whether the task is shown to its caller already. */
  readonly announced: boolean;
}

/** A turn, and the ends of it that the engine keeps in its hand. */
export interface OpenTurn {
  readonly turn: Turn;
  readonly inbox: Inbox;
  readonly abort: AbortController;
}

export function createTurn(live: LiveTask, facts: TurnFacts, now: () => number): OpenTurn {
  const { message, conversation, caller, trace } = facts;
  const abort = new AbortController();
  const inbox = new Inbox();
  const turn: Turn = {
    task: live.task,
    message,
    conversation,
    caller,
    ...(trace && { trace }),
    signal: abort.signal,
    inbox,
    now: () => new Date(now()),
    id: () => newId(now()),
  };
  return { turn, inbox, abort };
}
