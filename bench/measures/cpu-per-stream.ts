import { type WireVersion, streamAnswer, verify } from "../client.ts";
import type { Target } from "../target.ts";

/** A target as one wire version sees it. */
export interface Contender {
  readonly label: string;
  readonly target: Target;
  readonly version: WireVersion;
}

/** What the rounds gave: CPU of one stream in microseconds, one sample per contender and round. */
export type Samples = ReadonlyMap<string, readonly number[]>;

/** Streams answers of `count` chunks from all contenders in turn, so that a noisy moment meets all of them. */
export async function cpuPerStream(
  contenders: readonly Contender[],
  options: { readonly count: number; readonly rounds: number; readonly streams: number },
): Promise<Samples> {
  const { count, rounds, streams } = options;
  const samples = new Map<string, number[]>(contenders.map(({ label }) => [label, []]));
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? contenders : contenders.toReversed();
    for (const { label, target, version } of order) {
      const before = await target.cpu();
      const answers = [];
      for (let stream = 0; stream < streams; stream++) {
        answers.push(await streamAnswer(target.url, version, count));
      }
      samples.get(label)?.push(((await target.cpu()) - before) / streams);
      for (const answer of answers) verify(answer, count);
    }
  }
  return samples;
}

/** The median over the rounds of how many times the one costs what the other does. */
export function ratioOf(samples: Samples, label: string, floor: string): number {
  const floors = samples.get(floor) ?? [];
  return median(
    (samples.get(label) ?? []).map((cpu, round) => cpu / (floors[round] ?? Number.NaN)),
  );
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
