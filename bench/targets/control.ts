import { stayAwake } from "../rounds.ts";
import type { Job } from "./client-job.ts";

/** The requests of the measuring process to a target. */
export type Question =
  | "ping"
  | "cpu"
  | "rss"
  | "counts"
  /** When the signal of an agent that waits fired, as a time of the clock in milliseconds. */
  | "aborted at"
  | "open gate"
  /** Do not sleep while clients are measured, and sleep again. */
  | "stay awake"
  | "rest";

/** The ports that a target listens on. */
export interface Ready {
  readonly url: string;
}

/**
 * How often the storage was written to: the number of steps, and of the commits that they shared.
 */
export interface Counts {
  readonly steps: number;
  readonly commits: number;
}

let gate = Promise.withResolvers<void>();

/** Resolves when the measuring process opens the gate. */
export function gateOpened(): Promise<void> {
  return gate.promise;
}

/** What some targets can report or do. */
interface Abilities {
  readonly counts?: Counts;
  readonly abortedAt?: () => Promise<number>;
  readonly work?: (job: Job) => Promise<void>;
}

/**
 * Reports to the measuring process where this target listens, and answers its requests until it
 * exits.
 */
export function report(url: string, { counts, abortedAt, work }: Abilities = {}): void {
  let rest = (): void => undefined;
  const answers: Record<Question, () => unknown> = {
    ping: () => "pong",
    cpu: () => process.cpuUsage(),
    rss: () => {
      globalThis.gc?.();
      return process.memoryUsage.rss();
    },
    counts: () => counts ?? { steps: 0, commits: 0 },
    "aborted at": () => abortedAt?.(),
    "open gate": () => {
      gate.resolve();
      gate = Promise.withResolvers();
      return "open";
    },
    "stay awake": () => {
      rest = stayAwake();
      return "awake";
    },
    rest: () => {
      rest();
      return "resting";
    },
  };
  process.on("message", (question: Question | Job) => {
    if (typeof question === "string")
      void Promise.resolve(answers[question]()).then((answer) => process.send?.(answer));
    else void problemOf(work?.(question)).then((problem) => process.send?.(problem));
  });
  process.on("disconnect", () => process.exit());
  process.send?.({ url } satisfies Ready);
}

/** The error, or "". */
function problemOf(work: Promise<void> | undefined): Promise<string> {
  return work === undefined
    ? Promise.resolve("this target does no jobs")
    : work.then(() => "", String);
}
