import { setTimeout as sleep } from "node:timers/promises";
import type { Contender } from "./contenders.ts";

/** The measured value, or a lower bound if the measurement was cut off. */
export interface Figure {
  readonly value: number;
  readonly cutOff: boolean;
}

/** The samples of each contender, in the order of the rounds. */
export type Samples<T> = ReadonlyMap<Contender, readonly T[]>;

/**
 * Samples all contenders in turn, so that noise affects all of them. Each round begins with another one, and
 * every second round is in reverse: none is ever sampled twice in a row, which would find its caches warm.
 */
export async function interleave<T>(
  contenders: readonly Contender[],
  rounds: number,
  sample: (contender: Contender) => Promise<T>,
): Promise<Samples<T>> {
  const samples = new Map<Contender, T[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % contenders.length;
    const rotated = [...contenders.slice(first), ...contenders.slice(0, first)];
    for (const contender of round % 2 === 0 ? rotated : rotated.toReversed()) {
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

/**
 * The CPU that a contender's target uses for some work. Work that takes too long is cut off
 * together with its process.
 */
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
 * Keeps this process from sleeping. The kernel charges the work of waking a sleeping reader to the
 * writer, so a target that is faster than this client would be charged less for the same writes.
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

/**
 * Whether the work finishes within the contender's time limit. If not, the contender must be
 * restarted.
 */
export async function finishes({ capMs }: Contender, work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const capped = sleep(capMs, false, { signal: timer.signal }).catch(() => false);
  const isDone = await Promise.race([work.then(() => true), capped]);
  timer.abort();
  // Work that is cut off may fail in any way.
  if (!isDone) work.catch(() => undefined);
  return isDone;
}

/** The median of a contender's samples. */
export function medianOf(samples: Samples<Figure>, contender: Contender): Figure {
  return combined(samples.get(contender) ?? []);
}

/** The median over the rounds of the ratio between two contenders' costs. */
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
