import type { AgentEvent } from "./events.ts";
import type { Message } from "./message.ts";
import type { Task } from "./task.ts";

/** Something an agent can do, as its card lists it. */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
}

/** What the card says about an agent, and how it wants to be served. */
export interface AgentInfo {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly AgentSkill[];
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  readonly provider?: { readonly organization: string; readonly url: string };
  /** May answer with one message and no task; its task is shown once its first event tells. */
  readonly replies: boolean;
  /** Writes `final: false` at input-required and keeps that stream open. */
  readonly keepStreamOnInterrupt: boolean;
}

/**
 * Something that can work on a task. The server calls it; a function, the
 * agent loop, a process or a remote agent implement it.
 */
export interface Agent {
  readonly info: AgentInfo;
  /** Works on one turn and yields the events to append, alone or in batches. */
  run(turn: Turn): AsyncIterable<AgentEvent | readonly AgentEvent[]>;
}

/** One run of an agent on a task. */
export interface Turn {
  /** The task as it stood when the turn began. */
  readonly task: Task;
  /** The message that began the turn. */
  readonly message: Message;
  /** Earlier messages and answers of this context and owner, oldest first; fixed when the task is created. */
  readonly conversation: readonly Message[];
  readonly caller: Caller;
  /** The caller's trace, when it sent one. */
  readonly trace?: TraceContext;
  /** Fires when the task is canceled or the server stops. */
  readonly signal: AbortSignal;
  /** Messages that arrive while this run waits for its caller. */
  readonly inbox: AsyncIterator<Message, undefined>;
  /** Instead of `Date.now()` and `randomUUID()`, so that a replay can be exact. */
  now(): Date;
  id(): string;
}

/** Who asked. */
export interface Caller {
  readonly owner: string;
}

/** W3C trace context: the caller's trace, and our span in it. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
}
