import { type Attack, type AttackFamily, Fell, NotApplicable, type Scale } from "./attack.ts";
import type { Target } from "./target.ts";
import { checkAnswers } from "./wire/recovery.ts";

export interface Outcome {
  readonly verdict: "held" | "fell" | "not applicable";
  /** What happened, or what the target lacks. Empty if it held. */
  readonly reason: string;
}

/** Longer than any attack needs. */
const LONGEST_MS = 600_000;

/** Runs one attack. A target that does not answer afterwards has fallen, too. */
export async function runAttack(attack: Attack, target: Target, scale: Scale): Promise<Outcome> {
  const timer = new AbortController();
  try {
    await Promise.race([
      attack.run(target, scale).then(() => checkAnswers(target)),
      new Promise<never>((_, reject) => {
        const late = setTimeout(() => reject(new Fell("the attack never ended")), LONGEST_MS);
        timer.signal.addEventListener("abort", () => clearTimeout(late));
      }),
    ]);
    return { verdict: "held", reason: "" };
  } catch (error) {
    if (error instanceof NotApplicable) return { verdict: "not applicable", reason: error.message };
    if (target.isRunning?.() === false) {
      return { verdict: "fell", reason: "the process of the server ended" };
    }
    if (error instanceof Fell) return { verdict: "fell", reason: error.message };
    return { verdict: "not applicable", reason: `the attack failed: ${String(error)}` };
  } finally {
    timer.abort();
  }
}

/** A target, and how to end it. */
export interface StartedTarget extends AsyncDisposable {
  readonly target: Target;
}

export interface AttackResult extends Outcome {
  readonly attack: Attack;
}

/**
 * Runs attacks one after the other. The target is started again after an attack that has ended it, and
 * for attacks that use up its limits.
 */
export async function* runAttacks(
  families: readonly AttackFamily[],
  start: (family: AttackFamily) => Promise<StartedTarget>,
  scale: Scale,
): AsyncGenerator<AttackResult, void> {
  let started: StartedTarget | undefined;
  try {
    for (const family of families) {
      for (const [place, attack] of family.attacks.entries()) {
        const isFirst = place === 0 && family.isExhausting === true;
        if (isFirst || started?.target.isRunning?.() === false) {
          await started?.[Symbol.asyncDispose]();
          started = undefined;
        }
        started ??= await start(family);
        yield { attack, ...(await runAttack(attack, started.target, scale)) };
      }
    }
  } finally {
    await started?.[Symbol.asyncDispose]();
  }
}
