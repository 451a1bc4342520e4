import {
  AgentChanged,
  type InternalEvent,
  type InternalEventBase,
  type Message,
  isMessageReceived,
} from "@convoke/protocol";

/** How a step ended, as recorded in the journal. */
interface StepEnd extends InternalEventBase {
  readonly kind: "internal:step-end";
  readonly name: string;
  readonly n: number;
  /** Absent if the step threw or returned nothing. */
  readonly result?: unknown;
  readonly error?: StepErrorRecord;
}

export interface StepErrorRecord {
  readonly name: string;
  readonly message: string;
}

/** The start of a step, and how many waits were recorded before it. */
interface StepStart {
  readonly name: string;
  readonly waitsBefore: number;
  isRequested: boolean;
}

/** A wait, as recorded in the journal. */
export interface Wait {
  /** What was recorded when it began: `internal:ask` or `internal:sleep`. */
  readonly note: InternalEvent;
  /** How often the question was asked: again if an answer did not fit or was lost. */
  readonly asks: number;
  readonly isOver: boolean;
  /** The message that ended the wait, if it was a message. */
  readonly message: Message | undefined;
  /** When the wait ended without a message, if that was recorded. */
  readonly endedAt: Date | undefined;
}

/**
 * What an earlier attempt of the turn did: steps by name and ordinal, waits by their order. It is
 * compared with what the code requests now, because the code may have been changed in between.
 */
export class Journal {
  readonly #starts = new Map<string, StepStart>();
  readonly #ends = new Map<string, StepEnd>();
  readonly #waits: Wait[] = [];
  /** The wait that the last event of its kind began. */
  #current = -1;
  /** The number of waits that the code has reached. */
  #reached = 0;

  constructor(events: readonly InternalEvent[]) {
    for (const event of events) this.#add(event);
  }

  /**
   * The n-th step of this name: whether it was started, and how it ended.
   *
   * Throws an `AgentChanged` if the step seems to replace another one, whose effect would then
   * happen twice: it was never started, a question or sleep that the code has not reached yet was,
   * and so was a step before that which the code has not requested. A step that is only new, or
   * only gone, is no contradiction.
   */
  step(name: string, n: number): { readonly isStarted: boolean; readonly end?: StepEnd } {
    const key = `${n} ${name}`;
    const start = this.#starts.get(key);
    const end = this.#ends.get(key);
    if (start !== undefined) start.isRequested = true;
    else if (end === undefined) this.#checkNewStep(name);
    return { isStarted: start !== undefined, ...(end && { end }) };
  }

  /** The n-th wait of the turn, counted from 0, for its caller or for a time. */
  wait(n: number): Wait | undefined {
    this.#reached = Math.max(this.#reached, n + 1);
    return this.#waits[n];
  }

  #checkNewStep(name: string): void {
    if (this.#reached >= this.#waits.length) return;
    for (const start of this.#starts.values()) {
      if (start.isRequested || start.waitsBefore > this.#reached) continue;
      const { name: recorded } = start;
      throw new AgentChanged({ recorded: stepText(recorded), requested: stepText(name) });
    }
  }

  #add(event: InternalEvent): void {
    const { kind } = event;
    if (kind === "internal:step-start") this.#addStart(event);
    else if (kind === "internal:step-end") {
      const end = event as StepEnd;
      this.#ends.set(`${end.n} ${end.name}`, end);
    } else if (kind === "internal:ask" || kind === "internal:sleep") {
      this.#addWait(event);
    } else if (isMessageReceived(event)) this.#endWait(event);
    else if (kind === "internal:expired" || kind === "internal:woken") this.#endWait(event);
  }

  #addStart(event: InternalEvent): void {
    const { name, n } = event as InternalEvent & { readonly name: string; readonly n: number };
    const waitsBefore = this.#waits.length;
    this.#starts.set(`${n} ${name}`, { name, waitsBefore, isRequested: false });
  }

  #addWait(note: InternalEvent): void {
    const last = this.#waits.length - 1;
    const isLegacyAgain = isAskedAgain(note) && this.#waits[last]?.isOver === true;
    // Only a question that is asked again says which wait it continues.
    const place = typeof note["n"] === "number" ? note["n"] : this.#waits.length;
    this.#current = isLegacyAgain ? last : place;
    const earlier = this.#waits[this.#current];
    this.#waits[this.#current] = {
      note: isLegacyAgain ? earlier!.note : note,
      asks: (earlier?.asks ?? 0) + 1,
      isOver: false,
      message: undefined,
      endedAt: undefined,
    };
  }

  /** A turn waits for one thing at a time. */
  #endWait(event: InternalEvent): void {
    const wait = this.#waits[this.#current];
    if (wait === undefined) return;
    const message = isMessageReceived(event) ? event.message : undefined;
    const { timestamp } = event;
    const endedAt = typeof timestamp === "string" ? new Date(timestamp) : undefined;
    this.#waits[this.#current] = { ...wait, isOver: true, message, endedAt };
  }
}

/**
 * Whether an earlier version asked for one of the choices again. It recorded that as another
 * question, with this text and no state.
 */
function isAskedAgain({ question, state }: InternalEvent): boolean {
  const isText = typeof question === "string" && question.startsWith(CHOICE_AGAIN);
  return isText && state === undefined;
}

/** How an answer that is none of the choices is asked for again. */
export const CHOICE_AGAIN = "Please answer with one of: ";

function stepText(name: string): string {
  return `step(${JSON.stringify(name)})`;
}
