import { type InternalEvent, type Metadata, ServerStopping, type Turn } from "@convoke/protocol";
import type { Ends } from "./ends.ts";
import type { Journal, Step as RecordedStep, StepErrorRecord } from "./journal.ts";
import { type StepResult, jsonCopy } from "./json-value.ts";
import type { Takers } from "./turn-promise.ts";
import type { RunHooks, TurnParts } from "./waits.ts";

/** The context of a step's body. */
export interface StepContext {
  /**
   * The same for every attempt of this step, and different for every other step. Pass it to
   * services that accept an idempotency key.
   */
  readonly key: string;
}

export interface StepOptions {
  /**
   * Whether the body may run again after a crash. Default: true if the body takes its context
   * parameter, because then it can pass on the key.
   */
  readonly idempotent?: boolean;
  /**
   * What the step is for: `step("charge", …, { id: order.id })`. With its name it identifies the step,
   * wherever it stands and in whatever order, so steps in loops and parallel chains need one. Default:
   * the ordinal of the step among those of its name.
   */
  readonly id?: string;
}

/**
 * A crash occurred between the start of a step and its result, and the body may not run twice, so
 * it is unknown whether the step did its work. The function decides how to proceed.
 */
export class StepUnknownError extends Error {
  override readonly name = "StepUnknownError";
}

/**
 * An error that a step threw, in every attempt the same: with the name and the message of the error,
 * and with those of its other properties that are JSON. Compare these, not its class; the error itself
 * is its `cause` in the attempt in which it was thrown.
 */
export class StepError extends Error {
  readonly data: Metadata;

  constructor({ name, message, data = {} }: StepErrorRecord, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
    this.data = data;
  }
}

/** The function `step` of a turn. */
export type Step = <T>(
  name: string,
  body: ((context: StepContext) => T) & StepResult<T>,
  options?: StepOptions,
) => Promise<Awaited<T>>;

/** How a body ended. */
type Outcome =
  | { readonly result: unknown; readonly error?: undefined }
  | { readonly error: unknown };

/**
 * Durable steps. A step is identified by its name and its id, or by its ordinal among the steps of its
 * name, so several steps can run concurrently. Its start is durable before its body runs, and a recorded
 * result is never computed again.
 */
export class Steps {
  readonly #turn: Turn;
  readonly #journal: Journal;
  readonly #ends: Ends;
  readonly #hooks: RunHooks;
  readonly #ids = new Map<string, Set<string | undefined>>();

  constructor(turn: Turn, { journal, ends, hooks }: TurnParts) {
    this.#turn = turn;
    this.#journal = journal;
    this.#ends = ends;
    this.#hooks = hooks;
  }

  run<T>(
    name: string,
    body: (context: StepContext) => T,
    { takers, ...options }: StepOptions & { readonly takers: Takers },
  ): Promise<Awaited<T>> {
    const { id } = options;
    const problem = this.#problemOf(name, id);
    if (problem !== undefined) return Promise.reject(new TypeError(problem));
    const step = this.#journal.step(name, id);
    const { end } = step;
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome): void => {
        const isResult = "result" in outcome;
        takers.settle(isResult ? "fulfilled" : "rejected");
        if (isResult) resolve(outcome.result as Awaited<T>);
        else reject(outcome.error);
      };
      if (end !== undefined) {
        this.#ends.replay(step, () => {
          this.#ends.passTo(end.timestamp);
          settle(replayed(end));
        });
      } else this.#ends.during(this.#perform(step, { body, options, settle })).catch(reject);
    });
  }

  /** Notes the step of this name and id, and says why there may not be one. */
  #problemOf(name: string, id: string | undefined): string | undefined {
    if (id !== undefined && (typeof id !== "string" || id === "")) {
      return `the id of step(${JSON.stringify(name)}) must be a text, not ${JSON.stringify(id)}`;
    }
    const ids = this.#ids.get(name) ?? new Set();
    this.#ids.set(name, ids);
    if (id === undefined && ids.has(id)) this.#warnOfOrder(name);
    if (id !== undefined && ids.has(id)) {
      return (
        `step(${JSON.stringify(name)}) was called twice with the id ${JSON.stringify(id)} in one turn; ` +
        `for a repetition count it yourself: { id: \`${id}:\${n}\` }`
      );
    }
    ids.add(id);
    return undefined;
  }

  #warnOfOrder(name: string): void {
    this.#warnOnce(
      `step(${JSON.stringify(name)}) is called several times without ids, so a replay can only go by ` +
        "their order: say what each is for, such as { id: order.id }",
    );
  }

  #warnOfKey(name: string): void {
    this.#warnOnce(
      `step(${JSON.stringify(name)}) takes its context, so it runs again after a crash, but it does not ` +
        "use its key: pass the key to the service, or leave out the parameter",
    );
  }

  #warnOnce(warning: string): void {
    const { warned } = this.#hooks;
    if (!warned.has(warning)) this.#turn.warn?.(warning);
    warned.add(warning);
  }

  async #perform(step: RecordedStep, { body, options, settle }: Performance): Promise<void> {
    const { name, isStarted } = step;
    await this.#ends.begin(() => this.#journal.contradictionOfStep(step));
    const mayRepeat = options.idempotent ?? body.length > 0;
    if (isStarted && !mayRepeat) {
      const message = `a crash cut step "${name}"; it may or may not have done its work`;
      return this.#arrive(step, { error: new StepUnknownError(message) }, settle);
    }
    const start = isStarted ? undefined : this.#event("step-start", step);
    const ended = await this.#hooks.begin(`step "${name}"`, start);
    const outcome = await this.#outcome(step, body);
    if (!this.#isCanceled) return this.#arrive(step, outcome, settle, ended);
    // Nothing replays a canceled task: its log says what was done, in whatever order.
    this.#record(step, outcome, this.#turn.now());
    settle(outcome);
  }

  get #isCanceled(): boolean {
    const { aborted, reason } = this.#turn.signal;
    return aborted && !ServerStopping.is(reason);
  }

  #arrive(
    step: RecordedStep,
    outcome: Outcome,
    settle: (outcome: Outcome) => void,
    ended?: () => Promise<void>,
  ): void {
    this.#ends.arrive(async () => {
      const at = this.#turn.now();
      this.#record(step, outcome, at);
      try {
        // Does not return if the server stops and another attempt continues.
        await ended?.();
        this.#ends.handed(at);
        settle(outcome);
      } catch (error) {
        // The task was canceled.
        settle({ error });
      }
    });
  }

  /** Not awaited: anything recorded later comes after it in the log. */
  #record(step: RecordedStep, outcome: Outcome, at: Date): void {
    const facts = { ...recordOf(outcome), timestamp: at.toISOString() };
    void this.#hooks.say([this.#event("step-end", step, facts)]).catch(() => undefined);
  }

  async #outcome(
    { name, n, id }: RecordedStep,
    body: (context: StepContext) => unknown,
  ): Promise<Outcome> {
    const { task, message } = this.#turn;
    // An ordinal does not have this form, and an encoded id no colon.
    const last = id === undefined ? String(n) : `id=${encodeURIComponent(id)}`;
    const context = new BodyContext(`${task.id}:${message.messageId}:${name}:${last}`);
    try {
      const given = await this.#hooks.scope.enterStep(name, () => body(context));
      const result = given === undefined ? given : jsonCopy(given, `the result of step "${name}"`);
      if (body.length > 0 && !context.isKeyRead) this.#warnOfKey(name);
      return { result };
    } catch (error) {
      return {
        error: this.#isCanceled ? error : new StepError(recordedError(error), { cause: error }),
      };
    }
  }

  #event(
    kind: "step-start" | "step-end",
    { name, n, id }: RecordedStep,
    facts: object = {},
  ): InternalEvent {
    const taskId = this.#turn.task.id;
    const known = { taskId, name, n, ...(id !== undefined && { id }), after: this.#ends.place };
    return { kind: `internal:${kind}`, ...known, ...facts };
  }
}

class BodyContext implements StepContext {
  readonly #key: string;
  isKeyRead = false;

  constructor(key: string) {
    this.#key = key;
  }

  get key(): string {
    this.isKeyRead = true;
    return this.#key;
  }

  get signal(): never {
    throw new TypeError(
      "a step has no signal of its own: write run({ signal, step }) and use the signal of the turn",
    );
  }
}

interface Performance {
  readonly body: (context: StepContext) => unknown;
  readonly options: StepOptions;
  readonly settle: (outcome: Outcome) => void;
}

function replayed({
  result,
  error,
}: {
  readonly result?: unknown;
  readonly error?: StepErrorRecord;
}): Outcome {
  if (error === undefined) return { result };
  const isUnknown = error.name === "StepUnknownError";
  return { error: isUnknown ? new StepUnknownError(error.message) : new StepError(error) };
}

function recordOf(outcome: Outcome): object {
  if ("result" in outcome) return outcome.result === undefined ? {} : { result: outcome.result };
  const { name, message, data } = recordedError(outcome.error);
  return { error: { name, message, ...(data && { data }) } };
}

function recordedError(error: unknown): StepErrorRecord {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  if (error instanceof StepError) return error;
  const { name, message } = error;
  const fields = Object.entries(error).filter(
    ([field, value]) => field !== "name" && isJson(value),
  );
  return { name, message, ...(fields.length > 0 && { data: Object.fromEntries(fields) }) };
}

function isJson(value: unknown): boolean {
  try {
    jsonCopy(value, "");
    return true;
  } catch {
    return false;
  }
}
