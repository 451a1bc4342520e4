import {
  type Caller,
  EXTENSIONS,
  type InternalEvent,
  type Message,
  type Task,
  type TraceContext,
  type TracingOptions,
  type Turn,
  type TurnFiles,
  chosenSkill,
} from "@convoke/protocol";
import type { CommitResult } from "../log/backend.ts";
import type { LiveTask } from "./live-task.ts";
import type { Replay } from "./replay.ts";

/** What starts a turn, or another attempt of it. */
export interface TurnFacts {
  /** Identifies the run that writes. */
  readonly epoch: number;
  /** The number of the turn within its task, starting at 1. */
  readonly turn: number;
  readonly attempt: number;
  /** The task when the turn started. */
  readonly task: Task;
  /** When it started, ISO 8601, if that is known. */
  readonly startedAt?: string | undefined;
  readonly message: Message;
  readonly conversation: readonly Message[];
  readonly journal: readonly InternalEvent[];
  readonly caller: Caller;
  readonly extensions: ReadonlySet<string>;
  readonly trace?: TraceContext | undefined;
  /** The request that led to this attempt, if that is not the one that started the turn. */
  readonly link?: TraceContext | undefined;
  /** The step that creates the task, if it is not stored yet. */
  readonly creating?: Promise<CommitResult> | undefined;
  /** Whether the caller has seen the task already. */
  readonly announced: boolean;
  /** The output of an earlier attempt, if this one resumes from its journal. */
  readonly replay?: Replay;
}

/** The functions of a turn that its run provides. */
interface TurnHooks {
  readonly now: () => number;
  readonly warn: NonNullable<Turn["warn"]>;
  readonly signal: AbortSignal;
  readonly trace: TraceContext | undefined;
  readonly tracing: TracingOptions;
  readonly files: TurnFiles;
  readonly finalMessage: boolean;
  readonly park: Turn["park"];
  readonly durable: Turn["durable"];
  readonly begin: Turn["begin"];
}

/** A turn as its run updates it when a wait ends: each stretch of work has a span of its own. */
export type RunningTurn = Omit<Turn, "trace" | "resumedAt"> & {
  trace?: TraceContext;
  resumedAt?: Date;
};

export function createTurn(live: LiveTask, facts: TurnFacts, hooks: TurnHooks): RunningTurn {
  const { turn, attempt, task, message, conversation, journal, caller } = facts;
  const { extensions } = facts;
  // The functions of the turn refer to the clock itself, so that nothing else of the hooks is kept.
  const { now } = hooks;
  const skill = extensions.has(EXTENSIONS.skill.uri) ? chosenSkill(message) : undefined;
  let ids = 0;
  return {
    task,
    message,
    conversation,
    journal,
    files: hooks.files,
    findArtifact: (id) => live.findArtifact(id),
    attempt,
    ...(facts.startedAt !== undefined && { startedAt: new Date(facts.startedAt) }),
    warn: hooks.warn,
    caller,
    extensions,
    ...(skill !== undefined && { skill }),
    ...(hooks.trace && { trace: hooks.trace }),
    tracing: hooks.tracing,
    finalMessage: hooks.finalMessage,
    signal: hooks.signal,
    inbox: live.inbox,
    park: hooks.park,
    durable: hooks.durable,
    begin: hooks.begin,
    now: () => new Date(now()),
    id: () => `${live.writer.taskId}-${turn}-${++ids}`,
  };
}

/** Suspends a run while it waits for its caller or for a time. */
export class Parking {
  #waiting: PromiseWithResolvers<Message | undefined> | undefined;
  #hasWaited = false;
  #next: (() => void)[] = [];

  /** Whether the run is suspended. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined;
  }

  /** Resolves when the run is suspended for the first time. */
  get first(): Promise<void> {
    return this.#hasWaited ? Promise.resolve() : this.next();
  }

  /** Resolves when the run is suspended; immediately if it already is. */
  next(): Promise<void> {
    if (this.isWaiting) return Promise.resolve();
    return new Promise((resolve) => this.#next.push(resolve));
  }

  wait(): Promise<Message | undefined> {
    const waiting = Promise.withResolvers<Message | undefined>();
    this.#waiting = waiting;
    // Mark the rejection as handled: if the run was evicted, nothing awaits this promise.
    waiting.promise.catch(() => undefined);
    this.#hasWaited = true;
    for (const resolve of this.#next.splice(0)) resolve();
    return waiting.promise;
  }

  /** Calls `recall` if the signal fires while the run is still suspended by the same wait. */
  recallOn(signal: AbortSignal, recall: () => void): void {
    const waiting = this.#waiting;
    const onAbort = (): void => {
      if (waiting !== undefined && this.#waiting === waiting) recall();
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const forget = (): void => signal.removeEventListener("abort", onAbort);
    waiting?.promise.then(forget, forget);
  }

  /** Resumes the run with the answer, or with `undefined` if its time has come. */
  resume(answer: Message | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }

  /** Ends the wait with an error; without one, it never ends. */
  end(reason?: Error): void {
    if (reason !== undefined) this.#waiting?.reject(reason);
    this.#waiting = undefined;
  }
}
