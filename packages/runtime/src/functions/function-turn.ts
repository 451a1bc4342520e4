import {
  type AgentEvent,
  type InternalEvent,
  type Message,
  type StatusUpdateEvent,
  type TaskState,
  type Turn,
  agentMessage,
  isFinal,
  textOfParts,
} from "@convoke/protocol";
import { Journal, type StepContext, type StepOptions, Steps } from "./steps.ts";
import { artifact, fail, reject, reply, status } from "./function-output.ts";

/** The argument of a function agent's `run`. */
export interface FunctionTurn extends Turn {
  /** The text of the message. */
  readonly text: string;
  /**
   * Runs something once. A finished step never runs again: after a crash the function starts from
   * the top, and finished steps return their recorded results.
   */
  readonly step: <T>(
    name: string,
    body: (context: StepContext) => T | Promise<T>,
    options?: StepOptions,
  ) => Promise<T>;
  /**
   * Asks the caller and waits for the answer for as long as it takes; a question survives restarts.
   * With choices, it asks again until the answer is one of them, and returns that choice. If the
   * agent's input timeout is set to continue, it returns "" when no answer arrives in time.
   */
  readonly ask: (question: string, choices?: readonly string[]) => Promise<string>;
  /**
   * Reports that the caller must authorize something first, and waits for the caller's next
   * message.
   */
  readonly authRequired: (text: string) => Promise<string>;
  /** Waits for a time. A restart does not extend the wait. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly status: typeof status;
  readonly artifact: typeof artifact;
  readonly reply: typeof reply;
  readonly reject: typeof reject;
  readonly fail: typeof fail;
}

/**
 * Adds the helpers for function agents to a turn. `say` appends events and resolves when they are
 * durable.
 */
export function createFunctionTurn(
  turn: Turn,
  say: (events: readonly AgentEvent[]) => Promise<void>,
): FunctionTurn {
  const journal = new Journal(turn.journal);
  const steps = new Steps(turn, journal, (event) => say([event]));
  const waits = new Waits(turn, journal, say);
  const wait = async (
    state: TaskState,
    text: string,
    choices?: readonly string[],
  ): Promise<string | undefined> => {
    const answer = await waits.forCaller(state, text, choices);
    return answer && textOfParts(answer.parts);
  };
  return {
    ...turn,
    text: textOfParts(turn.message.parts),
    step: (name, body, options) => steps.run(name, body, options),
    ask: async (question, choices = []) => {
      if (choices.length === 0) return (await wait("input-required", question)) ?? "";
      const again = `Please answer with one of: ${choices.join(", ")}.`;
      for (let text = `${question} (${choices.join(" / ")})`; ; text = again) {
        const answer = await wait("input-required", text, choices);
        if (answer === undefined) return "";
        const given = answer.trim().toLowerCase();
        const chosen = choices.find((choice) => choice.toLowerCase() === given);
        if (chosen !== undefined) return chosen;
      }
    },
    authRequired: async (text) => (await wait("auth-required", text)) ?? "",
    sleep: (ms) => waits.forTime(ms),
    status,
    artifact,
    reply,
    reject,
    fail,
  };
}

/** Appends events; resolves when they are durable. */
type Say = (events: readonly AgentEvent[]) => Promise<void>;

/**
 * Waits for the caller or for a time, using the journal: a wait that ended in an earlier attempt
 * returns its recorded answer immediately, and a question that was already asked is not asked
 * again. A turn waits for one thing at a time; further waits are queued.
 */
class Waits {
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

  /**
   * Asks the caller in the given task state. Resolves with the answer, or with undefined if none
   * arrived in time.
   */
  forCaller(
    state: TaskState,
    text: string,
    choices: readonly string[] = [],
  ): Promise<Message | undefined> {
    return this.#inLine(async (n) => {
      // An id is taken even if nothing is asked, so that later ids are the same in every attempt.
      const messageId = this.#turn.id();
      const earlier = this.#journal.wait(n);
      if (earlier?.isOver === true) return earlier.message;
      if (earlier === undefined) {
        await this.#say([
          this.#note({ kind: "internal:ask", question: text }),
          this.#question(state, {
            ...agentMessage(messageId, text),
            // The choices are in the metadata, because clients that do not know them would display
            // a data part.
            ...(choices.length > 0 && { metadata: { options: choices } }),
          }),
        ]);
      }
      return this.#turn.park();
    });
  }

  /** Waits for a time. A restart of the server does not extend the wait. */
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
    return { ...facts, taskId: this.#turn.task.id } as InternalEvent;
  }

  #question(state: TaskState, message: Message): StatusUpdateEvent {
    const { id: taskId, contextId } = this.#turn.task;
    const status = { state, message };
    return { kind: "status-update", taskId, contextId, status, final: isFinal(state) };
  }
}
