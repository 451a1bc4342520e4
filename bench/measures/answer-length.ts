import { type Field, both } from "../contenders.ts";
import { type Figure, interleave, mapSamples, medianOf } from "../rounds.ts";
import { type Row, figureRow, pair } from "../table.ts";
import { cpuOfStream } from "./streams.ts";

interface Options {
  readonly rounds: number;
  readonly limits: { readonly growth: number; readonly seconds: number };
}

/** Chunks of an answer, and how many such answers make a sample. */
type Length = readonly [count: number, streams: number];

const LENGTHS: readonly Length[] = [
  [100, 80],
  [1000, 24],
  [10_000, 4],
];

/** For contenders that cannot finish the longest answer: the growth is visible before that. */
const LENGTHS_OF_SLOW: readonly Length[] = [
  [10, 1],
  [100, 1],
  [1000, 1],
  [10_000, 1],
];

/**
 * Whether a chunk of a long answer costs more than one of a short answer, and the cost of a long
 * answer.
 */
export async function answerLength(field: Field, options: Options): Promise<readonly Row[]> {
  const { rounds, limits } = options;
  const contenders = [...both(field.bare), ...both(field.ours), field.sdkV1, field.sdkV03];
  const samples = await interleave(contenders, rounds, async (contender) => {
    const costs: Cost[] = [];
    for (const [count, streams] of contender.maxRounds === 1 ? LENGTHS_OF_SLOW : LENGTHS) {
      const order = { manner: "burst", count } as const;
      costs.push({ count, cpu: await cpuOfStream(contender, order, { atOnce: 1, streams }) });
    }
    return costs;
  });
  const growth = mapSamples(samples, growthOf);
  const longest = mapSamples(samples, (costs) => {
    const { value, cutOff } = costs.at(-1)!.cpu;
    return { value: value / 1000, cutOff };
  });
  const row = figureRow(field, (contender) => medianOf(growth, contender), {
    work: "marginal cost of a chunk, 10 000 over 1 000",
    unit: "",
    limit: limits.growth,
  });
  const whole = figureRow(field, (contender) => medianOf(longest, contender), {
    work: "10 000-chunk answer, whole CPU",
    unit: " s",
    limit: limits.seconds,
  });
  const ofBare = (figures: typeof growth, unit: string): string =>
    `bare ${pair(
      both(field.bare).map((contender) => medianOf(figures, contender)),
      unit,
    )}`;
  return [
    { ...row, ratio: ofBare(growth, ""), sdkV1: `${row.sdkV1} (1 000 over 100)` },
    { ...whole, ratio: ofBare(longest, " s") },
  ];
}

interface Cost {
  readonly count: number;
  readonly cpu: Figure;
}

/**
 * The cost of a chunk between the second and the third length, relative to one between the first
 * and the second.
 */
function growthOf([first, second, third]: readonly Cost[]): Figure {
  const perChunk = (longer: Cost, shorter: Cost): number =>
    (longer.cpu.value - shorter.cpu.value) / (longer.count - shorter.count);
  return { value: perChunk(third!, second!) / perChunk(second!, first!), cutOff: false };
}
