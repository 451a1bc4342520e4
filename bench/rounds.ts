import { setTimeout as sleep } from "node:timers/promises";
import type { Contender } from "./contenders.ts";

/** The measured value, or a lower bound if the measurement was cut off. */
export interface Figure {
  readonly value: number;
  readonly cutOff: boolean;
}

/** The samples of each contender, in the order of the rounds. */
export type Samples<T> = ReadonlyMap<Contender, readonly T[]>;

/** Samples all contenders in turn, so that noise affects all of them. */
export async function interleave<T>(
  contenders: readonly Contender[],
  rounds: number,
  sample: (contender: Contender) => Promise<T>,
): Promise<Samples<T>> {
  const samples = new Map<Contender, T[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    const present = contenders.filter(({ maxRounds }) => round < maxRounds);
    for (const contender of inTurn(present, round)) {
      samples.get(contender)?.push(await sample(contender));
    }
  }
  return samples;
}

/** The order of one round: none is ever measured twice in a row, because its caches would still be warm. */
export function inTurn<T>(all: readonly T[], round: number): readonly T[] {
  const first = round % all.length;
  const rotated = [...all.slice(first), ...all.slice(0, first)];
  return round % 2 === 0 ? rotated : rotated.toReversed();
}

export function mapSamples<T, U>(samples: Samples<T>, pick: (sample: T) => U): Samples<U> {
  return new Map(Array.from(samples, ([contender, taken]) => [contender, taken.map(pick)]));
}

/**
 * The CPU that a contender's target uses for some work, in microseconds. Work that takes too long is cut
 * off together with its process.
 */
export async function costOf(contender: Contender, work: () => Promise<unknown>): Promise<Figure> {
  const { target, capMs } = contender;
  const before = await target.cpu();
  const rest = stayAwake();
  const cutOff = !(await finishes(contender, work()));
  rest();
  const after = cutOff ? target.busyCpu() : await target.cpu();
  if (cutOff) await target.restart();
  return { value: after === undefined ? capMs * 1000 : after - before, cutOff };
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
