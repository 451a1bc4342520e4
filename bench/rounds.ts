import { setTimeout as sleep } from "node:timers/promises";
import type { Contender } from "./contenders.ts";

/** What was measured: one number, or a lower bound of it where the measurement was cut off. */
export interface Figure {
  readonly value: number;
  readonly cutOff: boolean;
}

/** What each contender gave, in the order of the rounds. */
export type Samples<T> = ReadonlyMap<Contender, readonly T[]>;

/** Samples all contenders in turn, in changing order, so that a noisy moment meets all of them. */
export async function interleave<T>(
  contenders: readonly Contender[],
  rounds: number,
  sample: (contender: Contender) => Promise<T>,
): Promise<Samples<T>> {
  const samples = new Map<Contender, T[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? contenders : contenders.toReversed();
    for (const contender of order) {
      if (round < contender.maxRounds) samples.get(contender)?.push(await sample(contender));
    }
  }
  return samples;
}

export function mapSamples<T, U>(samples: Samples<T>, pick: (sample: T) => U): Samples<U> {
  return new Map(Array.from(samples, ([contender, taken]) => [contender, taken.map(pick)]));
}

/** CPU of a target while something ran, in microseconds. */
export interface Cost {
  readonly total: Figure;
  readonly main: Figure;
}

/** The CPU of a contender's target for some work. Work that takes too long is cut off with its process. */
export async function costOf(contender: Contender, work: () => Promise<unknown>): Promise<Cost> {
  const { target, capMs } = contender;
  const before = await target.cpu();
  const rest = stayAwake();
  const cutOff = !(await finishes(contender, work()));
  rest();
  const after = cutOff ? target.busyCpu() : await target.cpu();
  if (cutOff) await target.restart();
  const { total, main } = after ?? { total: before.total + capMs * 1000, main: Number.NaN };
  return {
    total: { value: total - before.total, cutOff },
    main: { value: main - before.main, cutOff },
  };
}

/**
 * Keeps this process from sleeping. To wake a sleeping reader is work of the
 * kernel that counts as the writer's, so that a target which is faster than this
 * client would be charged less for the same writes.
 */
export function stayAwake(): () => void {
  let isAwake = true;
  const turn = (): void => {
    if (isAwake) setImmediate(turn);
  };
  turn();
  return () => {
    isAwake = false;
  };
}

/** Whether the work is done within the contender's time. One whose work is not must be restarted. */
export async function finishes({ capMs }: Contender, work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const capped = sleep(capMs, false, { signal: timer.signal }).catch(() => false);
  const isDone = await Promise.race([work.then(() => true), capped]);
  timer.abort();
  // What is cut off may fail as it likes.
  if (!isDone) work.catch(() => undefined);
  return isDone;
}

/** The median of a contender's samples. */
export function medianOf(samples: Samples<Figure>, contender: Contender): Figure {
  return combined(samples.get(contender) ?? []);
}

/** The median over the rounds of how many times the one costs what the other does. */
export function ratioOf(samples: Samples<Figure>, contender: Contender, floor: Contender): Figure {
  const floors = samples.get(floor) ?? [];
  const ratios = (samples.get(contender) ?? []).map(({ value, cutOff }, round) => ({
    value: value / (floors[round]?.value ?? Number.NaN),
    cutOff,
  }));
  return combined(ratios);
}

function combined(figures: readonly Figure[]): Figure {
  return {
    value: median(figures.map(({ value }) => value)),
    cutOff: figures.some(({ cutOff }) => cutOff),
  };
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (
    sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
  );
}
