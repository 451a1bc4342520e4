import { type Contender, type Field, both } from "../contenders.ts";
import { type Figure, interleave, medianOf, ratioOf } from "../rounds.ts";
import { type Row, pair } from "../table.ts";
import type { Order } from "../targets/order.ts";
import { cpuOfSend } from "./blocking-send.ts";
import { cpuOfStream } from "./streams.ts";

interface Options {
  readonly rounds: number;
  /** How much the memory backend may cost, over SQLite. */
  readonly limit: number;
}

interface Work {
  readonly work: string;
  readonly unit: string;
  readonly measure: (contender: Contender) => Promise<Figure>;
}

const WORKS: readonly Work[] = [
  sends("a message alone", 1),
  sends("32 messages at a time", 32),
  streams("10 chunks in a burst", { order: { manner: "burst", count: 10 }, streams: 100 }),
  streams("100 chunks in a burst", { order: { manner: "burst", count: 100 }, streams: 50 }),
  streams("1000 chunks in a burst", { order: { manner: "burst", count: 1000 }, streams: 8 }),
  streams("1000 chunks, one per turn", { order: { manner: "turns", count: 1000 }, streams: 4 }),
  streams("… 16 streams", { order: { manner: "turns", count: 1000 }, streams: 16, atOnce: 16 }),
  streams("20 chunks, one per turn, 32 streams", {
    order: { manner: "turns", count: 20 },
    streams: 160,
    atOnce: 32,
  }),
];

function sends(work: string, atOnce: number): Work {
  return { work, unit: " µs", measure: (one) => cpuOfSend(one, { atOnce, calls: 600 }) };
}

function streams(
  work: string,
  options: { readonly order: Order; readonly streams: number; readonly atOnce?: number },
): Work {
  const { order, atOnce = 1, streams: count } = options;
  return {
    work,
    unit: " ms",
    measure: (one) => cpuOfStream(one, order, { atOnce, streams: count }),
  };
}

/** CPU of the memory backend, relative to that of SQLite: without a disk, nothing should cost more. */
export async function memoryBackend(field: Field, options: Options): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const work of WORKS) rows.push(await besideSqlite(field, work, options));
  return rows;
}

async function besideSqlite(
  { ours, memory }: Field,
  { work, unit, measure }: Work,
  { rounds, limit }: Options,
): Promise<Row> {
  const contenders = [...both(ours), ...both(memory)];
  // The first round warms up.
  await interleave(contenders, 1, measure);
  const samples = await interleave(contenders, rounds, measure);
  const ratios = both(memory).map((one) => ratioOf(samples, one, ours[one.version]));
  const figures = both(memory).map((one) => medianOf(samples, one));
  return {
    work: work.startsWith("…") ? work : `memory backend over SQLite: ${work}`,
    ours: pair(figures, unit),
    ratio: `${pair(ratios, "×")} SQLite`,
    budget: `${limit}×`,
    isMet: ratios.every(({ value }) => value <= limit),
  };
}
