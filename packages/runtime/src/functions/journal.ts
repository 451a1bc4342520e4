import {
  AgentChanged,
  type InternalEvent,
  type InternalEventBase,
  type Message,
  type Metadata,
  type SleepEvent,
  isMessageReceived,
  isSleep,
  isWokenBy,
} from "@convoke/protocol";
import { isDeepStrictEqual } from "node:util";

/** How a step ended, as recorded in the journal. */
interface StepEnd extends InternalEventBase {
  readonly kind: "internal:step-end";
  readonly name: string;
  readonly n: number;
  readonly id?: string;
  /** Absent if the step threw or returned nothing. */
  readonly result?: unknown;
  readonly error?: StepErrorRecord;
  readonly timestamp?: string;
}

export interface StepErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly data?: Metadata | undefined;
}

/** A step that was recorded, or that the code has requested now. */
export interface Step {
  readonly name: string;
  /** Its number among the steps of its name, from 1. */
  readonly n: number;
  /** What the code calls it in addition to its name. Steps of earlier versions have none. */
  readonly id: string | undefined;
  /** How many waits were recorded before it. */
  readonly waitsBefore: number;
  readonly isStarted: boolean;
  isRequested: boolean;
  end: StepEnd | undefined;
}

/** A wait that was recorded. */
export interface Wait {
  /** Its number among the waits of the turn, from 0. */
  readonly n: number;
  /** What was recorded when it began. */
  readonly note: InternalEvent;
  /** How often the question was asked: again if an answer did not fit or was lost. */
  asks: number;
  isRequested: boolean;
  /** The function went on without the question. */
  isWithdrawn: boolean;
  end: WaitEnd | undefined;
}

export interface WaitEnd {
  /** The message that ended the wait, if it was a message. */
  readonly message: Message | undefined;
  /** When it ended, if that was recorded. */
  readonly at: Date | undefined;
}

/**
 * What earlier attempts of the turn did, so that the code can do the same again: what it requested,
 * and the ends of that in the order in which the code received them. It is compared with what the
 * code requests now, because the code may have been changed in between.
 */
export class Journal {
  /** The ends in their order. Those of questions that were asked again are `undefined`. */
  readonly ends: (Step | Wait | undefined)[] = [];
  /** Whether the last event says that the turn only waits. */
  isIdle = false;
  readonly #steps = new Map<string, readonly Step[]>();
  readonly #counts = new Map<string, number>();
  readonly #waits: Wait[] = [];
  /** Waits that are over and whose ends the code has not received yet, as far as the log was read. */
  #over: Wait[] = [];
  /** Questions that were never asked have numbers, too. */
  #lastWait = -1;

  constructor(events: readonly InternalEvent[]) {
    for (const event of events) this.#add(event);
    this.#receive();
  }

  /**
   * The step of this name and id, or without an id the next one of this name: the recorded one, or a
   * new one. What was recorded without ids is matched by its order.
   */
  step(name: string, id?: string): Step {
    const recorded = this.#steps.get(name) ?? [];
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    const found =
      id === undefined
        ? recorded.find(({ n }) => n === count)
        : (recorded.find((step) => step.id === id) ??
          recorded.find((step) => step.id === undefined && !step.isRequested));
    if (found !== undefined && !found.isRequested) {
      found.isRequested = true;
      return found;
    }
    const last = Math.max(0, ...recorded.map((step) => step.n));
    const isFree = found === undefined && !recorded.some(({ n }) => n === count);
    const step = { ...NEW_STEP, name, n: isFree ? count : last + 1, id };
    this.#steps.set(name, [...recorded, step]);
    return step;
  }

  /** The wait that the code requests, if it was recorded. Sleeps are alike, except for their length. */
  wait(requested: InternalEvent): Wait | undefined {
    const isSame = ({ note, isRequested }: Wait): boolean =>
      !isRequested && isSameWait(note, requested);
    const recorded = this.#waits.find(isSame);
    if (recorded !== undefined) recorded.isRequested = true;
    return recorded;
  }

  /** The number of the next new wait. */
  newWait(): number {
    this.#lastWait += 1;
    return this.#lastWait;
  }

  /**
   * Why a step that was not recorded cannot be new, if it seems to replace another one, whose effect
   * would then happen twice: a question or sleep that the code has not requested yet was recorded,
   * and so was a step before that which the code has not requested. A step that is only new, or only
   * gone, is no contradiction.
   */
  contradictionOfStep({ name, isStarted }: Step): AgentChanged | undefined {
    const reached = this.#unrequestedWait();
    if (isStarted || reached === undefined) return undefined;
    for (const step of [...this.#steps.values()].flat()) {
      if (step.isRequested || step.waitsBefore > this.#waits.indexOf(reached)) continue;
      return new AgentChanged({ recorded: stepText(step.name), requested: stepText(name) });
    }
    return undefined;
  }

  /** Why a wait that was not recorded cannot be new: another one was recorded instead. */
  contradictionOfWait(requested: InternalEvent): AgentChanged | undefined {
    const recorded = this.#unrequestedWait();
    if (recorded === undefined) return undefined;
    return new AgentChanged({ recorded: waitText(recorded.note), requested: waitText(requested) });
  }

  #unrequestedWait(): Wait | undefined {
    return this.#waits.find(({ isRequested, isWithdrawn }) => !isRequested && !isWithdrawn);
  }

  #add(event: InternalEvent): void {
    const { kind } = event;
    if (kind === "internal:step-start" || kind === "internal:step-end") this.#addStep(event);
    else if (kind === "internal:ask" || kind === "internal:sleep") this.#addWait(event);
    else if (kind === "internal:recalled") this.#endQuestion((wait) => (wait.isWithdrawn = true));
    else if (kind === "internal:woken") this.#endSleeps(event);
    else if (isMessageReceived(event) || kind === "internal:expired") {
      this.#endQuestion((wait) => this.#end(wait, event));
    } else if (kind === "internal:idle") this.#receive(event);
    else if (kind !== "internal:attempt") return;
    const isWait = kind === "internal:ask" || kind === "internal:sleep" || kind === "internal:idle";
    this.isIdle = isWait && event["alongside"] !== true && this.#over.length === 0;
  }

  #addStep(event: InternalEvent): void {
    const { name, n, id } = event as StepEnd;
    this.#receive(event);
    const known = this.#steps.get(name) ?? [];
    const step = known.find((one) => one.n === n) ?? {
      ...NEW_STEP,
      name,
      n,
      id,
      waitsBefore: this.#waits.length,
      isStarted: true,
      isRequested: false,
    };
    if (!known.includes(step)) this.#steps.set(name, [...known, step]);
    if (event.kind === "internal:step-start") return;
    step.end = event as StepEnd;
    this.ends.push(step);
  }

  #addWait(note: InternalEvent): void {
    this.#receive(note);
    const last = this.#waits.at(-1);
    const isLegacyAgain = isAskedAgain(note) && last?.end !== undefined;
    const earlier = isLegacyAgain ? last : this.#waits.find(({ n }) => n === note["n"]);
    if (earlier !== undefined) return this.#askAgain(earlier);
    const n = typeof note["n"] === "number" ? note["n"] : this.#waits.length;
    this.#lastWait = Math.max(this.#lastWait, n);
    this.#waits.push({
      n,
      note,
      asks: 1,
      isRequested: false,
      isWithdrawn: false,
      end: undefined,
    });
  }

  /** The answer did not fit, so the code has not received it. */
  #askAgain(wait: Wait): void {
    wait.asks += 1;
    wait.end = undefined;
    wait.isWithdrawn = false;
    this.#over = this.#over.filter((one) => one !== wait);
    const place = this.ends.indexOf(wait);
    if (place !== -1) this.ends[place] = undefined;
  }

  /** A turn asks one question at a time. Earlier versions also slept one time at a time. */
  #endQuestion(end: (wait: Wait) => void): void {
    const isOpen = ({ note, end: ended, isWithdrawn }: Wait): boolean =>
      !isSleep(note) && ended === undefined && !isWithdrawn;
    const wait = this.#waits.findLast(isOpen);
    if (wait !== undefined) end(wait);
  }

  #endSleeps(event: InternalEvent): void {
    const over = this.#waits.filter(
      ({ note, end }) => end === undefined && isSleep(note) && isWokenBy(note, event),
    );
    for (const wait of over.toSorted(byEnd)) this.#end(wait, event);
  }

  #end(wait: Wait, event: InternalEvent): void {
    const message = isMessageReceived(event) ? event.message : undefined;
    const { timestamp } = event;
    const at = typeof timestamp === "string" ? new Date(timestamp) : undefined;
    wait.end = { message, at };
    this.#over.push(wait);
  }

  /**
   * When the code received the end of a wait is recorded with what it did next: with how many ends it
   * had received. What earlier versions recorded was received at once.
   */
  #receive(event?: InternalEvent): void {
    const after = event?.["after"];
    const isBefore = (): boolean => typeof after !== "number" || this.ends.length < after;
    while (this.#over.length > 0 && isBefore()) this.ends.push(this.#over.shift());
  }
}

const NEW_STEP = { waitsBefore: 0, isStarted: false, isRequested: true, end: undefined };

/** The order of sleeps that are over at the same time. */
export function byEnd(
  one: { readonly n: number; readonly note: InternalEvent },
  other: { readonly n: number; readonly note: InternalEvent },
): number {
  const [end, otherEnd] = [one.note as SleepEvent, other.note as SleepEvent];
  if (end.until === otherEnd.until) return one.n - other.n;
  return end.until < otherEnd.until ? -1 : 1;
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

/** The fields of a question that must not change. Earlier versions recorded only its text. */
const COMPARED = ["question", "state", "choices", "schema"] as const;

/**
 * Whether a recorded wait is the one that the code requests now. The length of a sleep may differ,
 * because it has no answer that could be misunderstood.
 */
function isSameWait(recorded: InternalEvent, requested: InternalEvent): boolean {
  if (recorded.kind !== requested.kind) return false;
  if (recorded.kind === "internal:sleep") return true;
  const compared = recorded["state"] === undefined ? COMPARED.slice(0, 1) : COMPARED;
  return compared.every((field) => isDeepStrictEqual(recorded[field], requested[field]));
}

function stepText(name: string): string {
  return `step(${JSON.stringify(name)})`;
}

/** A wait as the code that requests it, for the operator's log. */
function waitText({ kind, question, state, schema }: InternalEvent): string {
  if (kind === "internal:sleep") return "sleep(…)";
  const name = state === "auth-required" ? "authRequired" : "ask";
  const more = schema === undefined ? "" : `, { schema: ${JSON.stringify(schema)} }`;
  return `${name}(${JSON.stringify(question)}${more})`;
}
