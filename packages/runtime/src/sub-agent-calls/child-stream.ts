import type { Run } from "@convoke/client";
import {
  type Message,
  type PublicEvent,
  ServerStopping,
  type Task,
  applyEvent,
  isInterrupted,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import type { ToolEvent } from "../tools/tool.ts";
import type { Child } from "./child-call.ts";
import type { ChildQuestion } from "../sub-agents/sub-agent-events.ts";

/** How far a sub-agent has come. */
export type ChildOutcome =
  | { readonly kind: "ended"; readonly task: Task }
  /** It answered without a task. */
  | { readonly kind: "message"; readonly message: Message }
  /** It waits for something. */
  | { readonly kind: "question"; readonly task: Task; readonly problem?: string };

export interface ChildRun {
  readonly run: Run;
  /** The question that was just answered: the sub-agent may still show it until it continues. */
  readonly answered?: ChildQuestion;
}

export interface ChildStreamFacts {
  /** The name of the sub-agent here. */
  readonly name: string;
  readonly child: () => Child | undefined;
  readonly signal: AbortSignal;
  /** Called with its task as soon as an event names it. */
  readonly onTask: (task: Pick<Task, "id" | "contextId">) => void;
}

/** How long it may take to learn the task of a message that was sent, when it is to be canceled already. */
const LEARN_MS = 10_000;

/** More than any model could read: an agent that speaks without end is stopped. */
const MAX_LENGTH = 16_000_000;

/** Reads what a sub-agent does, until it has ended or asks. */
export class ChildStream {
  readonly #followed: ChildRun;
  readonly #facts: ChildStreamFacts;
  #length = 0;

  constructor(followed: ChildRun, facts: ChildStreamFacts) {
    this.#followed = followed;
    this.#facts = facts;
  }

  /** `begun` is what to say when its task is known for the first time. */
  async *read(begun: (task: Task) => ToolEvent): AsyncGenerator<ToolEvent, ChildOutcome> {
    const { run } = this.#followed;
    const leave = this.#leaveOnAbort();
    let task: Task | undefined;
    let reply: Message | undefined;
    try {
      for await (const event of run) {
        if (event.kind === "message") {
          reply = event;
          continue;
        }
        task = applyEvent(task ?? opening(event), event);
        refuseLongNames(task);
        if (this.#facts.child() === undefined) {
          this.#facts.onTask(task);
          yield begun(task);
        }
        this.#facts.signal.throwIfAborted();
        this.#check(event, task);
        yield* this.#shown(event);
        if (isInterrupted(task.status.state) && !this.#isStale(event)) {
          return { kind: "question", task };
        }
      }
    } finally {
      leave();
      await run[Symbol.asyncDispose]();
    }
    this.#facts.signal.throwIfAborted();
    if (reply !== undefined) return { kind: "message", message: reply };
    if (task !== undefined && isTerminal(task.status.state)) return { kind: "ended", task };
    if (task !== undefined && isInterrupted(task.status.state)) return { kind: "question", task };
    throw new Error("its answer ended before its task did");
  }

  /**
   * When the call is over, the reading ends. A message that was sent may have begun a task of which
   * nobody knows yet: that must be known before it can be canceled.
   */
  #leaveOnAbort(): () => void {
    const { signal, child } = this.#facts;
    const { run } = this.#followed;
    let timer: NodeJS.Timeout | undefined;
    const close = (): void => void run[Symbol.asyncDispose]();
    const stop = (): void => {
      if (child() !== undefined || ServerStopping.is(signal.reason)) close();
      else timer = setTimeout(close, LEARN_MS).unref();
    };
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    return () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    };
  }

  #check(event: Exclude<PublicEvent, Message>, { id }: Task): void {
    const { taskId } = this.#facts.child()!;
    if (id !== taskId) throw new Error(`it answered for task ${id} instead of ${taskId}`);
    this.#length += lengthOf(event);
    if (this.#length > MAX_LENGTH) throw new Error(`it said more than ${MAX_LENGTH} characters`);
  }

  *#shown(event: PublicEvent): Generator<ToolEvent, void> {
    const { name } = this.#facts;
    if (event.kind === "artifact-update") {
      const text = textOfParts(event.artifact.parts);
      if (text !== "") yield { kind: "tool:output", text };
    } else if (event.kind === "status-update" && event.status.state === "working") {
      const text = textOfParts(event.status.message?.parts ?? []).trim();
      if (text !== "") yield { kind: "tool:progress", text: `${name}: ${text}` };
    }
  }

  /** A snapshot may still show the question that is being answered. */
  #isStale(event: PublicEvent): boolean {
    const { answered } = this.#followed;
    if (answered === undefined || event.kind !== "task") return false;
    return event.status.message?.messageId === answered.messageId;
  }
}

const MAX_ID = 256;

/** Ids of tasks must fit into statuses and into what the model reads. */
function refuseLongNames({ id, contextId }: Task): void {
  const longest = Math.max(id.length, contextId.length);
  if (longest > MAX_ID) throw new Error(`it named its task by ${longest} characters`);
}

/** What an event costs, in characters: many small ones cost, too, and statuses stay in the history. */
function lengthOf(event: Exclude<PublicEvent, Message>): number {
  // A snapshot replaces what was there, but an endless series of snapshots must hit the limit, too.
  if (event.kind === "task") return 2000;
  const isStatus = event.kind === "status-update";
  const parts = isStatus ? (event.status.message?.parts ?? []) : event.artifact.parts;
  return JSON.stringify(parts).length + (isStatus ? 2000 : 100);
}

/** An agent may begin with a change to a task that it did not show. */
function opening(event: Exclude<PublicEvent, Message>): Task {
  if (event.kind === "task") return event;
  const { taskId: id, contextId } = event;
  return { kind: "task", id, contextId, status: { state: "submitted" } };
}
