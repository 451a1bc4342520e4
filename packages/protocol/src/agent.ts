/// <reference lib="esnext.disposable" preserve="true" />
import type { AgentEvent, InternalEvent } from "./events.ts";
import type { Connection } from "./connection/connection.ts";
import type { AgentExtension } from "./extensions/agent-extension.ts";
import type { Message } from "./message.ts";
import type { Metadata } from "./part.ts";
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
  /** What the agent supports beyond A2A itself; the server adds its own. */
  readonly extensions?: readonly AgentExtension[];
  /** May answer with one message and no task; its task is shown once its first event tells. */
  readonly replies: boolean;
  /** Writes `final: false` at input-required and keeps that stream open. */
  readonly keepStreamOnInterrupt: boolean;
  /** Takes messages while it works; they come through `Turn.inbox`. */
  readonly takesMessages: boolean;
  /** A run that a crash cut is begun anew, instead of failing as interrupted. */
  readonly restart: boolean;
  /** How long a task may take in all, in milliseconds. */
  readonly timeoutMs?: number;
  /** How long the agent waits for an answer, and what happens then. */
  readonly inputTimeout?: InputTimeout;
}

/** What an unanswered question leads to: the agent goes on without an answer, or the task fails. */
export interface InputTimeout {
  readonly ms: number;
  readonly afterwards: "continue" | "fail";
}

/**
 * Something that can work on a task. The server calls it; a function, the
 * agent loop, a process or a remote agent implement it.
 */
export interface Agent {
  /** May be another object later, and is the same while nothing of it has changed. */
  readonly info: AgentInfo;
  /** Works on one turn and yields the events to append, alone or in batches. */
  run(turn: Turn): AsyncIterable<AgentEvent | readonly AgentEvent[]>;
  /**
   * Looks at a message to a task that waits, before anybody stores it. Throws an `A2AError` to
   * refuse it: then nothing is added to the task. Returns it as it may be stored, which need not be
   * all of it; the run that waits gets what was sent. It depends on its arguments alone, because a
   * message that comes a second time is known by what it gives. Of a message that comes while the
   * task does not wait, it may say better than the server why that is refused.
   *
   * Without it every message is taken, and stored as it is.
   */
  accept?(task: Task, message: Message, at: Date): Message;
  /**
   * Hears that a task was canceled on which it does not work at the moment: its turn waits and was
   * dropped, or a crash came between. By what it noted it lets go of what it began elsewhere. May be
   * called more than once.
   */
  abandon?(task: Task, journal: readonly InternalEvent[]): void;
  /** Hears where it is served, before its first turn there. */
  prepare?(place: AgentPlace): void;
  /** Lets go of what it holds, such as processes it started. Nothing of it runs any more; it may be served again. */
  [Symbol.asyncDispose]?(): PromiseLike<void>;
}

/** Where an agent is served. */
export interface AgentPlace {
  /** Tells this agent from every other, also after a restart: its name and something unique. */
  readonly id?: string;
  /**
   * Runs another agent in the same process, for this agent alone: with tasks of its own, which are
   * kept beside those of this agent.
   */
  readonly runBeside?: (name: string, agent: Agent) => Promise<AgentBeside>;
  /** Where its data are, and where it may keep files of its own. Absent when nothing is kept. */
  readonly folder?: string;
  /** Takes what the operator should know. */
  readonly logger?: {
    debug(message: string, fields?: Metadata): void;
    warn(message: string, fields?: Metadata): void;
  };
}

/** An agent that another one runs in the same process. */
export interface AgentBeside extends AsyncDisposable {
  /** Speaks to it on behalf of a caller, whose tasks are apart from those of others. */
  connect(caller: Caller): Connection;
}

/** One run of an agent on a task. */
export interface Turn {
  /** The task as it stood when the turn began. */
  readonly task: Task;
  /** The message that began the turn. */
  readonly message: Message;
  /** Earlier messages and answers of this context and owner, oldest first; fixed when the task is created. */
  readonly conversation: readonly Message[];
  /** What earlier attempts of this turn noted and were told, in order; empty on the first. */
  readonly journal: readonly InternalEvent[];
  /** 1, and one more each time the turn was begun anew. */
  readonly attempt: number;
  readonly caller: Caller;
  /** The URIs of the extensions that the message which began the turn had activated. */
  readonly extensions: ReadonlySet<string>;
  /** The id of the skill that this message chose, where the extension `skill` is active. */
  readonly skill?: string;
  /** The caller's trace, when it sent one. */
  readonly trace?: TraceContext;
  /** Fires when the task is canceled, or when the server stops: then its reason is a `ServerStopping`. */
  readonly signal: AbortSignal;
  /** Messages that arrive while the agent works, for agents that take them. */
  readonly inbox: AsyncIterator<Message, undefined>;
  /**
   * Waits for the caller's next message (after a status that asks for one) or
   * until a time. Resolves to the message, or to nothing when the time came.
   * Meanwhile the run may be dropped, and the turn begun anew with its journal.
   *
   * With a signal the agent may take its question back: when it fires before an
   * answer came, the task works again, and the wait resolves to nothing. Such a
   * run is not dropped, and where its `internal:ask` says `isWatched`, it is
   * begun anew when its server starts.
   */
  readonly park: (until?: Date, recall?: AbortSignal) => Promise<Message | undefined>;
  /** Resolves when everything that was yielded so far is committed. */
  readonly durable: () => Promise<void>;
  readonly now: () => Date;
  /** An id that a later attempt of the same turn gets again, so that a replay can be exact. */
  readonly id: () => string;
}

/** Who asked. */
export interface Caller {
  readonly owner: string;
}

/** W3C trace context: the caller's trace, and our span in it. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** What tracing systems of the caller add (`tracestate`), to be handed on as it came. */
  readonly state?: string;
}
