import type { AgentChanged } from "@convoke/protocol";
import type { Journal, Step, Wait } from "./journal.ts";

/** How long the code may do nothing before what it requests is judged not to fit its journal. */
const PATIENCE_MS = 1000;

/** Hands an end to the code. */
type Hand = () => void | Promise<void>;

/** A request that is not in the journal. */
interface Request {
  readonly begin: () => void;
  readonly contradiction: () => AgentChanged | undefined;
}

/** What the queue needs from its run. */
export interface EndsHooks {
  /** Resolves when the code is not kept waiting by its own output any more; absent if it is not. */
  readonly outputTaken: () => Promise<void> | undefined;
  /**
   * Ends the run with the error. The function is left where it stands: it could catch an error, and
   * go on with an answer to another question.
   */
  readonly giveUp: (error: unknown) => Promise<never>;
}

/**
 * Makes a replay the same run again. Whatever ends (a step, an answer, a timer) enters this queue and
 * leaves it one per turn of the event loop, so what the code does in between depends on nothing else.
 * In a replay the recorded ends come first, in their order. What the journal does not know, a new
 * request or a step that has to run again, waits for them; and a recorded end that the code has not
 * requested when it has come to rest is passed over.
 */
export class Ends {
  readonly #recorded: Journal["ends"];
  readonly #hooks: EndsHooks;
  /** How many ends were handed to the code or passed over. It is recorded with what the code does next. */
  #place = 0;
  #time: Date;
  readonly #requested = new Map<Step | Wait, Hand>();
  /** Ends that were passed over, with their places, and those of them that were requested since. */
  readonly #passed = new Map<Step | Wait, number>();
  #late: readonly { readonly place: number; readonly hand: Hand }[] = [];
  readonly #arrived: Hand[] = [];
  #held: Request[] = [];
  #patience: NodeJS.Timeout | undefined;
  #isScheduled = false;
  /** Whether an answer is being read: what comes after it has to wait. */
  #isHanding = false;
  #working = 0;
  readonly #onChange: (() => void)[] = [];

  /** @param begin when the turn began */
  constructor(journal: Journal, hooks: EndsHooks, begin: Date) {
    this.#time = begin;
    this.#recorded = journal.ends;
    this.#hooks = hooks;
  }

  /** Whether something else is under way in addition to the work of the caller. */
  get isAlongside(): boolean {
    return this.#working > 1 || this.#isScheduled || this.#arrived.length > 0;
  }

  /** Whether the code has not received all recorded ends yet. */
  get isReplaying(): boolean {
    return this.#place < this.#recorded.length;
  }

  get place(): number {
    return this.#place;
  }

  /** Whether nothing is under way, so that only the end of a wait can continue the run. */
  get isIdle(): boolean {
    const isQuiet = !this.#isScheduled && !this.#isHanding && this.#patience === undefined;
    return isQuiet && this.#working === 0;
  }

  /** Calls the listener when something may have begun or ended. */
  onChange(listener: () => void): void {
    this.#onChange.push(listener);
  }

  /** Calls the listeners when the code has come to rest. */
  touch(): void {
    this.#schedule();
  }

  /** The code has requested something that has ended in an earlier attempt. */
  replay(end: Step | Wait, hand: Hand): void {
    const place = this.#passed.get(end);
    if (place === undefined) this.#requested.set(end, hand);
    else this.#late = [...this.#late, { place, hand }].toSorted((a, b) => a.place - b.place);
    this.#schedule();
  }

  /** Something has ended in this attempt. `hand` counts it with `handed`. */
  arrive(hand: Hand): void {
    this.#arrived.push(hand);
    this.#schedule();
  }

  /** Records that an end of this attempt is handed to the code. @param at when it ended */
  handed(at: Date): void {
    this.#place += 1;
    this.#time = at;
  }

  /** The time of the last end that the code has received. */
  get time(): Date {
    return new Date(this.#time);
  }

  /** A recorded end is handed to the code. Earlier versions have not recorded the time of all of them. */
  passTo(at: Date | string | undefined): void {
    if (at !== undefined) this.#time = new Date(at);
  }

  /**
   * Resolves when what the journal does not know may begin. Ends the run if it contradicts the journal
   * for so long that the code cannot only be on its way to what was recorded.
   */
  begin(contradiction: Request["contradiction"] = () => undefined): Promise<void> {
    if (!this.isReplaying && contradiction() === undefined) return DONE;
    return new Promise((resolve) => {
      this.#held.push({ begin: resolve, contradiction });
      this.#schedule();
    });
  }

  /** Work that is under way until it has ended. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#working += 1;
    if (this.#working === 1) this.#changed();
    try {
      return await work;
    } finally {
      this.#working -= 1;
      this.#changed();
    }
  }

  #changed(): void {
    for (const listener of this.#onChange) listener();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isHanding) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    const taken = this.#hooks.outputTaken();
    if (taken !== undefined) return void taken.then(() => setImmediate(() => this.#turn()));
    this.#isScheduled = false;
    const hand = this.#nextRecorded() ?? (this.#release() ? undefined : this.#arrived.shift());
    const handing = hand?.();
    if (handing === undefined) return this.#goOn();
    this.#isHanding = true;
    void handing.then(() => {
      this.#isHanding = false;
      this.#goOn();
    });
  }

  #goOn(): void {
    const isMore = this.isReplaying || this.#arrived.length + this.#late.length > 0;
    if (isMore || this.#mayRelease()) this.#schedule();
    this.#changed();
  }

  #nextRecorded(): Hand | undefined {
    while (this.#place < this.#recorded.length) {
      const end = this.#recorded[this.#place];
      this.#place += 1;
      const hand = end && this.#requested.get(end);
      if (hand !== undefined) return hand;
      if (end !== undefined) this.#passed.set(end, this.#place);
    }
    const [late, ...rest] = this.#late;
    this.#late = rest;
    return late?.hand;
  }

  #mayRelease(): boolean {
    return this.#held.some(({ contradiction }) => contradiction() === undefined);
  }

  /** Begins what does not contradict the journal. The rest waits a little. */
  #release(): boolean {
    if (this.#held.length === 0) return false;
    clearTimeout(this.#patience);
    this.#patience = undefined;
    const held = this.#held;
    this.#held = held.filter(({ contradiction }) => contradiction() !== undefined);
    const begun = held.filter((request) => !this.#held.includes(request));
    for (const { begin } of begun) begin();
    const [doubtful] = this.#held;
    if (doubtful !== undefined) {
      this.#patience = setTimeout(() => this.#judge(doubtful), PATIENCE_MS);
    }
    return begun.length > 0;
  }

  #judge({ contradiction }: Request): void {
    const changed = contradiction();
    if (changed === undefined) this.#schedule();
    else void this.#hooks.giveUp(changed);
  }
}

const DONE = Promise.resolve();
