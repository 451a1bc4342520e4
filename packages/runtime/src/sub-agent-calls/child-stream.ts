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

/** Why reading from a sub-agent stopped. */
export type ChildOutcome =
  | { readonly kind: "ended"; readonly task: Task }
  /** The sub-agent answered with a message instead of a task. */
  | { readonly kind: "message"; readonly message: Message }
  /** The sub-agent is waiting for input, authentication or an approval. */
  | { readonly kind: "question"; readonly task: Task; readonly problem?: string };

export interface ChildRun {
  readonly run: Run;
  /** The question that was just answered. The sub-agent may still show it until it continues. */
  readonly answered?: ChildQuestion;
}

export interface ChildStreamFacts {
  /** The name of the sub-agent in this agent's definition. */
  readonly name: string;
  readonly child: () => Child | undefined;
  readonly signal: AbortSignal;
  /** Called with the task of the sub-agent as soon as an event names it. */
  readonly onTask: (task: Pick<Task, "id" | "contextId">) => void;
}

/**
 * When a call is aborted right after its message was sent, how long to wait for the id of the task
 * that must be canceled.
 */
const LEARN_MS = 10_000;

/**
 * Maximum size of a sub-agent's output in characters. More than any model could read, it stops
 * agents that never finish.
 */
const MAX_LENGTH = 16_000_000;

/** Reads the stream of a sub-agent until its task ends or asks a question. */
export class ChildStream {
  readonly #followed: ChildRun;
  readonly #facts: ChildStreamFacts;
  #length = 0;

  constructor(followed: ChildRun, facts: ChildStreamFacts) {
    this.#followed = followed;
    this.#facts = facts;
  }

  /** `begun` builds the event to yield when the task of the sub-agent first becomes known. */
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
   * Stops reading when the call is aborted. If the message was sent but its task is not known yet,
   * keeps reading for a while, because the task can only be canceled by its id.
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

  /** Whether the event is a snapshot that still shows the question we are answering. */
  #isStale(event: PublicEvent): boolean {
    const { answered } = this.#followed;
    if (answered === undefined || event.kind !== "task") return false;
    return event.status.message?.messageId === answered.messageId;
  }
}

const MAX_ID = 256;

/** Rejects overlong ids, because they are copied into statuses and into the model's input. */
function refuseLongNames({ id, contextId }: Task): void {
  const longest = Math.max(id.length, contextId.length);
  if (longest > MAX_ID) throw new Error(`it named its task by ${longest} characters`);
}

/**
 * The size of an event in characters. Every event has a fixed minimum, so that many small ones
 * reach the limit too; it is higher for statuses, because they stay in the history.
 */
function lengthOf(event: Exclude<PublicEvent, Message>): number {
  // A snapshot replaces the previous one, but an endless series of them must reach the limit too.
  if (event.kind === "task") return 2000;
  const isStatus = event.kind === "status-update";
  const parts = isStatus ? (event.status.message?.parts ?? []) : event.artifact.parts;
  return JSON.stringify(parts).length + (isStatus ? 2000 : 100);
}

/**
 * The task as the first event describes it. An agent may start with an update to a task that it has
 * not sent.
 */
function opening(event: Exclude<PublicEvent, Message>): Task {
  if (event.kind === "task") return event;
  const { taskId: id, contextId } = event;
  return { kind: "task", id, contextId, status: { state: "submitted" } };
}
