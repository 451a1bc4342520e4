import { checkStream } from "../check.ts";
import { type Answer, inFlight, stream } from "../client.ts";
import { type Contender, type Field, both, peersOf } from "../contenders.ts";
import { type Figure, costOf, interleave } from "../rounds.ts";
import { type Row, overPeerRow, ratioRow } from "../table.ts";
import type { Order } from "../targets/order.ts";

interface Options {
  readonly work: string;
  readonly order: Order;
  /** How many streams run at a time, and how many make a sample. */
  readonly atOnce: number;
  readonly streams: number;
  readonly rounds: number;
  /** Unmeasured samples of each contender before the first round. Default none. */
  readonly warmUps?: number;
  /** Over bare. Absent: no budget. */
  readonly limit?: number;
  /** Also measures the memory backend, with both backends beside SDK 0.3.14 with Express. */
  readonly overPeer?: number;
}

/** CPU of streamed answers, relative to bare `node:http`. */
export async function streams(field: Field, options: Options): Promise<readonly Row[]> {
  const { order, rounds, warmUps = 0, work, limit, overPeer } = options;
  const memory = overPeer === undefined ? [] : both(field.memory);
  const everyone = [...both(field.bare), ...both(field.ours), ...memory, ...peersOf(field)];
  const sample = (contender: Contender): Promise<Figure> => cpuOfStream(contender, order, options);
  await interleave(everyone, warmUps, sample);
  const samples = await interleave(everyone, rounds, sample);
  const budget = limit === undefined ? {} : { limit };
  const row = ratioRow(field, samples, { work, unit: " ms", ...budget });
  if (overPeer === undefined) return [row];
  const beside = { unit: " ms", limit: overPeer };
  return [
    row,
    overPeerRow(field, samples, { work: "… over SDK 0.3.14 with Express", ...beside }),
    overPeerRow(field, samples, { work: "… memory backend", ours: "memory", ...beside }),
  ];
}

/**
 * Milliseconds of CPU for one answer, averaged over several. A contender that is sampled only once
 * runs as few concurrent streams as possible.
 */
export async function cpuOfStream(
  contender: Contender,
  order: Order,
  { atOnce, streams: wanted }: Pick<Options, "atOnce" | "streams">,
): Promise<Figure> {
  const total = contender.maxRounds === 1 ? atOnce : wanted;
  let answers: Answer[] = [];
  const cost = await costOf(contender, async () => {
    answers = await inFlight(atOnce, total, () => stream(contender, order));
  });
  for (const answer of answers) checkStream(answer, order);
  return { value: cost.value / 1000 / total, cutOff: cost.cutOff };
}
