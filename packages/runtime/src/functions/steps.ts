import type { InternalEvent, Turn } from "@convoke/protocol";
import type { Journal, StepErrorRecord } from "./journal.ts";

/** What the body of a step gets. */
export interface StepContext {
  /**
   * The same for every attempt of this step, and for no other: give it to
   * services that take an idempotency key.
   */
  readonly key: string;
  readonly signal: AbortSignal;
}

export interface StepOptions {
  /**
   * The body may run again after a crash. By default that is so when it takes
   * its context, because then it can hand on the key.
   */
  readonly idempotent?: boolean;
}

/**
 * A crash came between the start of a step and its result, and the body may not
 * run twice: it is unknown whether it did its work. The function decides.
 */
export class StepUnknownError extends Error {
  override readonly name = "StepUnknownError";
}

/** An error that left a step in an earlier attempt, thrown again. */
export class StepError extends Error {
  constructor({ name, message }: StepErrorRecord) {
    super(message);
    this.name = name;
  }
}

/** Notes an event; resolves when it is durable. */
export type Note = (event: InternalEvent) => Promise<void>;

/**
 * Durable steps. A step is known by its name and the how-manieth of that name
 * it is, so several may run at once. Its start is on disk before its body runs,
 * and its result is never computed twice.
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
    // Not waited for: whatever comes next in the log comes after it.
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

/** The result as the journal keeps it, so that the first run and a later one work with the same. */
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
