import {
  type InternalEvent,
  type InternalEventBase,
  type Message,
  type Turn,
  isMessageReceived,
} from "@convoke/protocol";

/** The context of a step's body. */
export interface StepContext {
  /**
   * The same for every attempt of this step, and different for every other step. Pass it to
   * services that accept an idempotency key.
   */
  readonly key: string;
  readonly signal: AbortSignal;
}

export interface StepOptions {
  /**
   * Whether the body may run again after a crash. Default: true if the body takes its context
   * parameter, because then it can pass on the key.
   */
  readonly idempotent?: boolean;
}

/**
 * A crash occurred between the start of a step and its result, and the body may not run twice, so
 * it is unknown whether the step did its work. The function decides how to proceed.
 */
export class StepUnknownError extends Error {
  override readonly name = "StepUnknownError";
}

/** An error that a step threw in an earlier attempt, thrown again. */
export class StepError extends Error {
  constructor({ name, message }: StepErrorRecord) {
    super(message);
    this.name = name;
  }
}

/** Records an event; resolves when it is durable. */
export type Note = (event: InternalEvent) => Promise<void>;

/**
 * Durable steps. A step is identified by its name and its ordinal among steps of that name, so
 * several steps can run concurrently. Its start is durable before its body runs, and a recorded
 * result is never computed again.
 */
export class Steps {
  readonly #turn: Turn;
  readonly #journal: Journal;
  readonly #note: Note;
  readonly #counts = new Map<string, number>();

  constructor(turn: Turn, journal: Journal, note: Note) {
    this.#turn = turn;
    this.#journal = journal;
    this.#note = note;
  }

  async run<T>(
    name: string,
    body: (context: StepContext) => T | Promise<T>,
    options: StepOptions = {},
  ): Promise<T> {
    const n = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, n);
    const earlier = this.#journal.end(name, n);
    if (earlier !== undefined) return replayed(earlier.result as T, earlier.error);
    const mayRepeat = options.idempotent ?? body.length > 0;
    if (!this.#journal.hasStarted(name, n))
      await this.#note(this.#event("step-start", name, n, {}));
    else if (!mayRepeat) throw await this.#unknown(name, n);
    return this.#perform(name, n, body);
  }

  async #perform<T>(
    name: string,
    n: number,
    body: (context: StepContext) => T | Promise<T>,
  ): Promise<T> {
    const { task, message, signal } = this.#turn;
    const key = `${task.id}:${message.messageId}:${name}:${n}`;
    let result: T;
    try {
      result = storable(name, await body({ key, signal }));
    } catch (error) {
      if (!signal.aborted)
        await this.#note(this.#event("step-end", name, n, { error: recordOf(error) }));
      throw error;
    }
    // Not awaited: anything recorded later comes after it in the log.
    void this.#note(this.#event("step-end", name, n, result === undefined ? {} : { result })).catch(
      () => undefined,
    );
    return result;
  }

  async #unknown(name: string, n: number): Promise<StepUnknownError> {
    const error = new StepUnknownError(
      `a crash cut step "${name}"; it may or may not have done its work`,
    );
    await this.#note(this.#event("step-end", name, n, { error: recordOf(error) }));
    return error;
  }

  #event(kind: "step-start" | "step-end", name: string, n: number, facts: object): InternalEvent {
    return { kind: `internal:${kind}`, taskId: this.#turn.task.id, name, n, ...facts };
  }
}

function replayed<T>(result: T, error: StepErrorRecord | undefined): T {
  if (error === undefined) return result;
  throw error.name === "StepUnknownError"
    ? new StepUnknownError(error.message)
    : new StepError(error);
}

/**
 * Converts the result to what the journal stores, so that the first run and a replay work with the
 * same value.
 */
function storable<T>(name: string, result: T): T {
  if (result === undefined) return result;
  try {
    return JSON.parse(JSON.stringify(result)) as T;
  } catch (cause) {
    throw new TypeError(`the result of step "${name}" cannot be stored as JSON`, { cause });
  }
}

function recordOf(error: unknown): StepErrorRecord {
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: "Error", message: String(error) };
}

/** How a step ended, as recorded in the journal. */
interface StepEnd extends InternalEventBase {
  readonly kind: "internal:step-end";
  readonly name: string;
  readonly n: number;
  /** Absent if the step threw or returned nothing. */
  readonly result?: unknown;
  readonly error?: StepErrorRecord;
}

interface StepErrorRecord {
  readonly name: string;
  readonly message: string;
}

/** A wait, as recorded in the journal. */
interface Wait {
  readonly isOver: boolean;
  /** The message that ended the wait, if it was a message. */
  readonly message: Message | undefined;
  readonly until: string | undefined;
}

/** What an earlier attempt of the turn did, by the name and ordinal of each call. */
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

  /** The n-th wait of the turn, counted from 0, for its caller or for a time. */
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
