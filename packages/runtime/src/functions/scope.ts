import { AsyncLocalStorage } from "node:async_hooks";

/** What the code of a run is in the middle of. */
interface Scope {
  readonly run: FunctionScope;
  /** The step whose body it is, if it is one. */
  readonly step?: string;
  /** The scope that it was entered in: of the same run, or of a run whose step calls this agent. */
  readonly outer?: Scope | undefined;
}

const scopes = new AsyncLocalStorage<Scope>();

/** What `reject`, `status` and their like have created: it has no effect unless it is returned or yielded. */
export interface CreatedOutput {
  readonly kind: `output:${string}`;
}

/**
 * One run of a function: finds steps inside of steps, which a replay would lose, and outputs that the
 * code has created and forgotten.
 */
export class FunctionScope {
  /** What the code has neither yielded nor returned yet, and how it is written. */
  readonly #created = new Map<CreatedOutput, string>();

  /** Runs code of the function. */
  enter<T>(code: () => T): T {
    return scopes.run({ run: this, outer: scopes.getStore() }, code);
  }

  /** Runs the body of a step. */
  enterStep<T>(step: string, body: () => T): T {
    return scopes.run({ run: this, step, outer: scopes.getStore() }, body);
  }

  /** Throws if something is requested in the body of a step, or after an end that was not returned. */
  check(requested: string): void {
    for (let scope = scopes.getStore(); scope !== undefined; scope = scope.outer) {
      if (scope.run !== this || scope.step === undefined) continue;
      throw new TypeError(
        `${requested} was called inside step(${JSON.stringify(scope.step)}): a replay skips the body ` +
          `of a finished step, so call ${requested} before or after it, in the function itself`,
      );
    }
    for (const [output, call] of this.#created) {
      if (output.kind === "output:end" || output.kind === "output:reply") {
        this.#created.delete(output);
        throw new TypeError(`${call}(…) was called but not returned: write return ${call}(…)`);
      }
    }
  }

  created(output: CreatedOutput, call: string): void {
    this.#created.set(output, call);
  }

  /** The code has yielded or returned it. */
  used(output: object): void {
    this.#created.delete(output as CreatedOutput);
  }

  /** What was created and never used, as the line to write. */
  forgotten(): string | undefined {
    const [call] = this.#created.values();
    if (call === undefined) return undefined;
    return `${call}(…) was called but not yielded: write yield ${call}(…)`;
  }
}

/** Remembers an output of the run that creates it, if a run does. */
export function remember<Output extends CreatedOutput>(output: Output, call: string): Output {
  scopes.getStore()?.run.created(output, call);
  return output;
}
