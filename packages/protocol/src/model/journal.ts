import type { Caller } from "./agent.ts";
import type { TraceContext } from "./connection.ts";
import type { Message } from "./message.ts";
import type { Metadata } from "./part.ts";

// The internal events of a task's log. They are stored next to the public events and are never sent
// to a client. A process that resumes a task reads them to find out what was already done. Data
// folders outlive versions of this package: kinds and fields may be added here, never renamed.

/** What all internal events have in common. Fields that a later version added are kept. */
export interface InternalEventBase {
  readonly kind: `internal:${string}`;
  readonly taskId: string;
  /** See {@link isResumable}. */
  readonly resumable?: boolean;
  readonly [field: string]: unknown;
}

/** Anything an agent or the engine records in a task's log for itself; narrows by `kind`. */
export type InternalEvent =
  | EngineEvent
  | WaitEvent
  | StepEvent
  | LoopEvent
  | RemoteEvent
  | CustomInternalEvent;

/**
 * An event of an agent that is not part of Convoke. Its kind has the form `internal:<owner>/<name>`,
 * for example `internal:acme/position`, so it cannot collide with a kind of ours.
 */
export interface CustomInternalEvent extends InternalEventBase {
  readonly kind: `internal:${string}/${string}`;
}

// Written by the engine

/** A message to the task. It becomes part of the history and is not streamed. */
export interface MessageReceivedEvent extends InternalEventBase {
  readonly kind: "internal:message";
  readonly message: Message;
  readonly timestamp: string;
  /** The URIs of the extensions that the message activated; absent if none. */
  readonly extensions?: readonly string[];
  /** What is known about the sender in addition to the owner of the task; absent if nothing is. */
  readonly caller?: Omit<Caller, "owner">;
  /** The parts of the sender's trace that events do not show; absent if there are none. */
  readonly trace?: Pick<TraceContext, "flags" | "state">;
}

type EngineEvent =
  | MessageReceivedEvent
  /** The extensions that the first message of the task activated, and what is known about its sender. */
  | Internal<"activated", Pick<MessageReceivedEvent, "extensions" | "caller" | "trace">>
  /** The agent's turn is over although the task is not: the next message starts a new turn. */
  | Internal<"turn-end", { readonly turn: number }>
  /**
   * The turn was started again. `crashes` counts the attempts without progress that ended with their
   * process; `lost` are the ids of those processes, if several share the storage.
   */
  | Internal<
      "attempt",
      { readonly attempt: number; readonly crashes?: number; readonly lost?: readonly string[] }
    >
  /** The caller canceled the task. */
  | Internal<"cancel">
  /** No answer arrived in time, and the agent continues without one. */
  | Internal<"expired", { readonly timestamp?: string }>
  /**
   * All sleeps that end at this time or before are over. Events of earlier versions have no time: their
   * turns slept once at a time.
   */
  | Internal<"woken", { readonly timestamp?: string }>
  /** The agent withdrew its question: what it asked for was settled elsewhere. */
  | Internal<"recalled", { readonly timestamp?: string }>
  /**
   * The server stopped before the agent could begin something. `start` has the fields that identify
   * the event which announced it, if that was written already: it does not count.
   */
  | Internal<"held", { readonly start?: Metadata }>;

// Written by agents and understood by the engine

/** The agent asks its caller and waits for the answer, which may arrive after a restart. */
interface AskEvent extends InternalEventBase, Alongside {
  readonly kind: "internal:ask";
  /** When the question expires, ISO 8601. Without it, it waits as long as the task does. */
  readonly until?: string;
  /** The agent checks meanwhile whether the question is settled elsewhere, so it must run while it waits. */
  readonly isWatched?: boolean;
}

/** The agent sleeps; the engine wakes it, also after a restart. */
export interface SleepEvent extends InternalEventBase, Alongside {
  readonly kind: "internal:sleep";
  /** ISO 8601. */
  readonly until: string;
}

interface Alongside {
  /** Something else of the turn is under way, so after a crash it is resumed and not only woken. */
  readonly alongside?: boolean;
}

type WaitEvent =
  | AskEvent
  | SleepEvent
  /** Nothing is under way in addition to so many sleeps and a question, unless one of them is over. */
  | Internal<"idle", { readonly sleeps: number; readonly isAsking: boolean }>;

// Written by agents for themselves. Fields without a type here belong to the package that writes them.

/** Durable steps of a function agent. `n` is the step's ordinal among the steps of its name, from 1. */
type StepEvent =
  | Internal<"step-start", Step>
  | Internal<
      "step-end",
      Step & {
        /** Absent if the step threw, or returned nothing. */
        readonly result?: unknown;
        readonly error?: {
          readonly name: string;
          readonly message: string;
          readonly data?: Metadata;
        };
        readonly timestamp?: string;
      }
    >;

interface Step {
  readonly name: string;
  readonly n: number;
  /** What the function calls the step, in addition to its name. */
  readonly id?: string;
  /** How many results, errors, answers and timers the function had received before. */
  readonly after?: number;
}

/** What the agent loop records: model calls, tool calls, approvals and sub-agents. */
type LoopEvent =
  | Internal<"llm-call", Iteration & { readonly attempt?: number; readonly model?: string }>
  | Internal<"llm-retry", Iteration & { readonly attempt: number; readonly problem: string }>
  | Internal<"thought", Iteration & { readonly text: string }>
  | Internal<"llm-result", Iteration & { readonly content: readonly unknown[] }>
  | Internal<
      "tool-start",
      ToolCall & Timed & { readonly toolName: string; readonly input?: unknown }
    >
  | Internal<
      "tool-complete",
      ToolCall & Timed & { readonly success: boolean; readonly output?: unknown }
    >
  | Internal<"tool-interrupt", ToolCall & Timed & { readonly interrupts: readonly unknown[] }>
  | Internal<"tool-progress", ToolCall & { readonly text: string; readonly fraction?: number }>
  | Internal<"tool-output", ToolCall & { readonly text: string }>
  | Internal<"tool-note", ToolCall & Timed & { readonly name: string; readonly data: unknown }>
  | Internal<"checkpoint", Iteration>
  | Internal<"trimmed", Iteration & { readonly entries: number }>
  | Internal<"approval-requested", ToolCall & Timed & { readonly approval: object }>
  | Internal<"approval-decided", ToolCall & { readonly toolName: string; readonly digest: string }>
  | Internal<
      "sub-agent-call",
      ToolCall & Timed & { readonly agent: string; readonly handed: Metadata }
    >
  | Internal<
      "sub-agent",
      ToolCall & Timed & { readonly agent: string; readonly childTaskId: string }
    >
  | Internal<"sub-agent-question", ToolCall & Timed & { readonly requests: readonly object[] }>;

/** What an agent records that passes its task on to a remote agent. */
type RemoteEvent =
  | Internal<"remote-task", { readonly remoteTaskId: string; readonly remoteContextId: string }>
  | Internal<"remote-question">
  | Internal<"remote-answer">;

type Internal<Name extends string, Fields = unknown> = InternalEventBase & {
  readonly kind: `internal:${Name}`;
} & Fields;

interface Timed {
  readonly timestamp: string;
}

interface Iteration extends Timed {
  readonly iteration: number;
}

interface ToolCall {
  readonly toolCallId: string;
}

/** The kinds of this package, and whether a log with such an event can be resumed. */
const RESUMABLE = {
  "internal:message": false,
  "internal:activated": false,
  "internal:turn-end": false,
  "internal:attempt": false,
  "internal:cancel": false,
  "internal:expired": false,
  "internal:woken": false,
  "internal:recalled": false,
  "internal:held": true,
  "internal:ask": true,
  "internal:sleep": true,
  "internal:idle": false,
  "internal:step-start": true,
  "internal:step-end": true,
  "internal:llm-call": true,
  "internal:llm-retry": false,
  "internal:thought": false,
  "internal:llm-result": false,
  "internal:tool-start": false,
  "internal:tool-complete": false,
  "internal:tool-interrupt": false,
  "internal:tool-progress": false,
  "internal:tool-output": false,
  "internal:tool-note": false,
  "internal:checkpoint": false,
  "internal:trimmed": false,
  "internal:approval-requested": false,
  "internal:approval-decided": false,
  "internal:sub-agent-call": false,
  "internal:sub-agent": false,
  "internal:sub-agent-question": false,
  "internal:remote-task": true,
  "internal:remote-question": false,
  "internal:remote-answer": false,
} as const satisfies Record<Exclude<InternalEvent, CustomInternalEvent>["kind"], boolean>;

/**
 * Whether the event proves that its agent can continue the turn from its journal after a crash. A
 * turn without such an event is started over if the agent allows it (`AgentInfo.restart`) and fails
 * as interrupted otherwise.
 *
 * An event says so itself with `resumable: true`, which is how an agent of your own opts in. Our
 * kinds do not store the property; for them the table above decides, so that logs of earlier
 * versions are read as before.
 */
export function isResumable({ kind, resumable }: InternalEventBase): boolean {
  if (resumable !== undefined) return resumable;
  return Object.hasOwn(RESUMABLE, kind) && RESUMABLE[kind as keyof typeof RESUMABLE];
}

/** Whether the event is a message to the task. */
export function isMessageReceived(event: { readonly kind: string }): event is MessageReceivedEvent {
  return event.kind === "internal:message";
}

export function isSleep(event: { readonly kind: string }): event is SleepEvent {
  return event.kind === "internal:sleep";
}

/** Whether the event ends the sleep. */
export function isWokenBy(sleep: SleepEvent, { timestamp }: InternalEventBase): boolean {
  return typeof timestamp !== "string" || sleep.until <= timestamp;
}

/** The kinds of the engine's own events, by what they mean. */
export const ENGINE_EVENTS = {
  turnEnd: "internal:turn-end",
  attempt: "internal:attempt",
  cancel: "internal:cancel",
  expired: "internal:expired",
  woken: "internal:woken",
  recalled: "internal:recalled",
  held: "internal:held",
} as const satisfies Record<string, EngineEvent["kind"]>;
