import {
  type InternalEvent,
  type InternalEventBase,
  type Message,
  isMessageReceived,
} from "@convoke/protocol";

/** How a step ended, as the journal has it. */
export interface StepEnd extends InternalEventBase {
  readonly kind: "internal:step-end";
  readonly name: string;
  readonly n: number;
  /** Absent when it threw, or returned nothing. */
  readonly result?: unknown;
  readonly error?: StepErrorRecord;
}

export interface StepErrorRecord {
  readonly name: string;
  readonly message: string;
}

/** A wait, as the journal has it. */
export interface Wait {
  /** The wait is over. */
  readonly isOver: boolean;
  /** What ended it, if it was a message. */
  readonly message: Message | undefined;
  readonly until: string | undefined;
}

/** What an earlier attempt of the turn did, by the names and counts of its calls. */
export class Journal {
  readonly #starts = new Set<string>();
  readonly #ends = new Map<string, StepEnd>();
  readonly #waits: Wait[] = [];

  constructor(events: readonly InternalEvent[]) {
    for (const event of events) this.#add(event);
  }

  hasStarted(name: string, n: number): boolean {
    return this.#starts.has(`${n} ${name}`);
  }

  end(name: string, n: number): StepEnd | undefined {
    return this.#ends.get(`${n} ${name}`);
  }

  /** The n-th time, from 0, that the turn waited for its caller or for a time. */
  wait(n: number): Wait | undefined {
    return this.#waits[n];
  }

  #add(event: InternalEvent): void {
    const { kind, name, n } = event;
    if (kind === "internal:step-start") this.#starts.add(`${String(n)} ${String(name)}`);
    else if (kind === "internal:step-end")
      this.#ends.set(`${String(n)} ${String(name)}`, event as StepEnd);
    else if (kind === "internal:ask" || kind === "internal:sleep") {
      const until = event["until"] as string | undefined;
      this.#waits.push({ isOver: false, message: undefined, until });
    } else if (isMessageReceived(event)) this.#endWait(event.message);
    else if (kind === "internal:expired" || kind === "internal:woken") this.#endWait(undefined);
  }

  /** A turn waits for one thing at a time. */
  #endWait(message: Message | undefined): void {
    const last = this.#waits.pop();
    if (last !== undefined) this.#waits.push({ ...last, isOver: true, message });
  }
}
