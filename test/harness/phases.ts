import { setTimeout as sleep } from "node:timers/promises";

/** The progress of a kill test: the number of kills so far. */
export class Phases {
  readonly #announce: (phase: number) => Promise<void>;
  #phase = 0;
  #waiting: { readonly wanted: number; readonly resolve: () => void }[] = [];

  /** `announce` is called first when a phase starts. */
  constructor(announce: (phase: number) => Promise<void> = async () => undefined) {
    this.#announce = announce;
  }

  async enter(phase: number): Promise<void> {
    this.#phase = phase;
    await this.#announce(phase);
    const due = this.#waiting.filter(({ wanted }) => wanted <= phase);
    this.#waiting = this.#waiting.filter(({ wanted }) => wanted > phase);
    for (const { resolve } of due) resolve();
  }

  /** Resolves when the test has reached this phase. */
  reach(wanted: number): Promise<void> {
    if (wanted <= this.#phase) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ wanted, resolve }));
  }
}

export interface KillPlan {
  readonly kills: number;
  /** Kills something and starts it again; the first kill is 1. */
  readonly kill: (kill: number) => Promise<void>;
  readonly phases: Phases;
  /** The runs that must survive to their end. */
  readonly runs: readonly (() => Promise<void>)[];
  /** Whether they start one after the other, so that every kill hits some of them midway. */
  readonly staggered: boolean;
  /** What else must have happened when all runs have ended. */
  readonly settled?: () => Promise<void>;
  /**
   * How long the runs may take after the last kill. The test reports what has not ended by then.
   */
  readonly withinMs: number;
}

/** Executes the runs through all kills to their end. Returns how many seconds it took. */
export async function runThroughKills(plan: KillPlan): Promise<number> {
  const { kills, kill, phases, runs, staggered, settled, withinMs } = plan;
  const began = performance.now();
  const ended = Promise.all(
    runs.map(async (run, place) => {
      if (staggered) await phases.reach(Math.floor((place * kills) / runs.length));
      await run();
    }),
  );
  ended.catch(() => undefined);
  for (let count = 1; count <= kills; count++) {
    await kill(count);
    await phases.enter(count);
  }
  const all = ended.then(() => settled?.());
  await Promise.race([all, sleep(withinMs, undefined, { ref: false })]);
  return (performance.now() - began) / 1000;
}
