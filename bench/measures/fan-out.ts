import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { checkStream } from "../check.ts";
import { type Answer, openStream, subscribe, whole } from "../client.ts";
import { type Contender, type Field, both } from "../contenders.ts";
import { type Figure, costOf, interleave, medianOf } from "../rounds.ts";
import { type Row, pair } from "../table.ts";
import type { Order } from "../targets/order.ts";

interface Options {
  readonly subscribers: number;
  readonly rounds: number;
  /** The number of events, and the budget per event and reader, in microseconds. */
  readonly flushes: { readonly count: number; readonly limit: number };
  readonly alone: { readonly count: number; readonly limit: number };
}

/** CPU per event and reader when many readers watch one task. */
export async function fanOut(field: Field, options: Options): Promise<readonly Row[]> {
  const { subscribers, rounds, flushes, alone } = options;
  const work = `fan-out to ${subscribers} subscribers, per delivered event`;
  const row = async (name: string, order: Order, limit: number): Promise<Row> => {
    const everyone = [...both(field.bare), ...both(field.ours)];
    const samples = await interleave(everyone, rounds, (each) => deliver(each, order, subscribers));
    const figures = both(field.ours).map((contender) => medianOf(samples, contender));
    const bare = both(field.bare).map((contender) => medianOf(samples, contender));
    return {
      work: name,
      ours: pair(figures, " µs"),
      ratio: `bare ${pair(bare, " µs")}`,
      budget: `${limit} µs`,
      isMet: figures.every(({ value }) => value <= limit),
    };
  };
  return [
    await row(
      `${work}, in flushes`,
      { manner: "burst", count: flushes.count, gated: true },
      flushes.limit,
    ),
    await row("… one at a time", { manner: "alone", count: alone.count, gated: true }, alone.limit),
  ];
}

async function deliver(contender: Contender, order: Order, readers: number): Promise<Figure> {
  const { target } = contender;
  const opened = await openStream(contender, order);
  const origin = whole(opened);
  const [piece] = (await once(opened.response, "data")) as [Buffer];
  const taskId = /"(?:taskId|id)":"([^"]+)"/.exec(piece.toString())?.[1] ?? "";
  const subscriptions = await Promise.all(
    Array.from({ length: readers }, () => subscribe(contender, taskId)),
  );
  const answers = subscriptions.map(whole);
  await sleep(50);
  let received: readonly Answer[] = [];
  const cost = await costOf(contender, async () => {
    await target.ask("open gate");
    received = await Promise.all([origin, ...answers]);
  });
  for (const answer of received) checkStream(answer, order);
  return { value: cost.value / order.count / (readers + 1), cutOff: cost.cutOff };
}
