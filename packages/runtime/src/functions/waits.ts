import {
  type AgentEvent,
  type InternalEvent,
  type Message,
  type StatusUpdateEvent,
  type TaskState,
  type Turn,
  agentMessage,
  isFinal,
} from "@convoke/protocol";
import type { Journal } from "./journal.ts";

/** Appends events; resolves when they are durable. */
type Say = (events: readonly AgentEvent[]) => Promise<void>;

/**
 * Waiting for the caller or for a time, by the journal: what was answered in an
 * earlier attempt is answered at once, and what was asked is not asked again. A
 * turn waits for one thing at a time; further waits stand in line.
 */
export class Waits {
  readonly #turn: Turn;
  readonly #journal: Journal;
  readonly #say: Say;
  #count = 0;
  #line: Promise<unknown> = Promise.resolve();

  constructor(turn: Turn, journal: Journal, say: Say) {
    this.#turn = turn;
    this.#journal = journal;
    this.#say = say;
  }

  /** Asks in the given state; resolves to the answer, or to nothing when it did not come in time. */
  forCaller(
    state: TaskState,
    text: string,
    choices: readonly string[] = [],
  ): Promise<Message | undefined> {
    return this.#inLine(async (n) => {
      // Taken also where nothing is asked, so that what comes later gets the same ids again.
      const messageId = this.#turn.id();
      const earlier = this.#journal.wait(n);
      if (earlier?.isOver === true) return earlier.message;
      if (earlier === undefined) {
        await this.#say([
          this.#note({ kind: "internal:ask", question: text }),
          this.#question(state, {
            ...agentMessage(messageId, text),
            // Beside the words: a data part would be read aloud by clients that know nothing of it.
            ...(choices.length > 0 && { metadata: { options: choices } }),
          }),
        ]);
      }
      return this.#turn.park();
    });
  }

  /** Sleeps; a restart of the server does not make it longer. */
  forTime(ms: number): Promise<void> {
    return this.#inLine(async (n) => {
      const earlier = this.#journal.wait(n);
      if (earlier?.isOver === true) return;
      const until = new Date(earlier?.until ?? this.#turn.now().getTime() + ms);
      if (earlier === undefined) {
        await this.#say([this.#note({ kind: "internal:sleep", until: until.toISOString() })]);
      }
      await this.#turn.park(until);
    });
  }

  #inLine<T>(wait: (n: number) => Promise<T>): Promise<T> {
    const n = this.#count++;
    const next = this.#line.then(() => wait(n));
    this.#line = next.catch(() => undefined);
    return next;
  }

  #note(facts: Pick<InternalEvent, "kind"> & Readonly<Record<string, unknown>>): InternalEvent {
    return { ...facts, taskId: this.#turn.task.id };
  }

  #question(state: TaskState, message: Message): StatusUpdateEvent {
    const { id: taskId, contextId } = this.#turn.task;
    const status = { state, message };
    return { kind: "status-update", taskId, contextId, status, final: isFinal(state) };
  }
}
