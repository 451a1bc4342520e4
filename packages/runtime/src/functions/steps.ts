import type { InternalEvent, Turn } from "@convoke/protocol";
import type { Journal, StepErrorRecord } from "./journal.ts";
import { type StepResult, jsonCopy } from "./json-value.ts";
import type { RunHooks } from "./waits.ts";

/** The context of a step's body. */
export interface StepContext {
  /**
   * The same for every attempt of this step, and different for every other step. Pass it to
   * services that accept an idempotency key.
   */
  readonly key: string;
  /** The turn's: it aborts when the task is canceled or has ended otherwise. */
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

/** The function `step` of a turn. */
export type Step = <T>(
  name: string,
  body: ((context: StepContext) => T) & StepResult<T>,
  options?: StepOptions,
) => Promise<Awaited<T>>;

/**
 * Durable steps. A step is identified by its name and its ordinal among steps of that name, so
 * several steps can run concurrently. Its start is durable before its body runs, and a recorded
 * result is never computed again.
 */
export class Steps {
  readonly #turn: Turn;
  readonly #journal: Journal;
  readonly #hooks: RunHooks;
  readonly #signal: () => AbortSignal;
  readonly #counts = new Map<string, number>();

  /** @param signal what bodies get: it does not abort when the server stops */
  constructor(turn: Turn, journal: Journal, hooks: RunHooks, signal: () => AbortSignal) {
    this.#turn = turn;
    this.#journal = journal;
    this.#hooks = hooks;
    this.#signal = signal;
  }

  async run<T>(
    name: string,
    body: (context: StepContext) => T,
    options: StepOptions = {},
  ): Promise<Awaited<T>> {
    const n = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, n);
    let recorded: ReturnType<Journal["step"]>;
    try {
      recorded = this.#journal.step(name, n);
    } catch (error) {
      return this.#hooks.giveUp(error);
    }
    const { isStarted, end } = recorded;
    if (end !== undefined) return replayed(end.result as Awaited<T>, end.error);
    const mayRepeat = options.idempotent ?? body.length > 0;
    if (isStarted && !mayRepeat) throw await this.#unknown(name, n);
    const start = isStarted ? undefined : this.#event("step-start", name, n, {});
    const ended = await this.#hooks.begin(`step "${name}"`, start);
    try {
      return await this.#perform(name, n, body);
    } finally {
      await ended();
    }
  }

  #note(event: InternalEvent): Promise<void> {
    return this.#hooks.say([event]);
  }

  async #perform<T>(
    name: string,
    n: number,
    body: (context: StepContext) => T,
  ): Promise<Awaited<T>> {
    const { task, message, signal } = this.#turn;
    const key = `${task.id}:${message.messageId}:${name}:${n}`;
    const cancelSignal = this.#signal;
    const context: StepContext = {
      key,
      get signal() {
        return cancelSignal();
      },
    };
    let result: Awaited<T>;
    try {
      const given = await body(context);
      result = given === undefined ? given : jsonCopy(given, `the result of step "${name}"`);
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

function recordOf(error: unknown): StepErrorRecord {
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: "Error", message: String(error) };
}
