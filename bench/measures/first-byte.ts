import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { checkStream } from "../check.ts";
import { openStream, whole } from "../client.ts";
import { type Contender, type Field, both } from "../contenders.ts";
import { type Figure, finishes, interleave, medianOf } from "../rounds.ts";
import { type Row, figureRow, pair } from "../table.ts";
import type { Order } from "../targets/order.ts";

/** Lets earlier work settle: this measures time, not CPU. */
const REST_MS = 200;

interface Options {
  readonly count: number;
  readonly rounds: number;
  readonly limit: number;
}

/** How long the reader of a long burst waits for its first byte. */
export async function firstByte(field: Field, options: Options): Promise<readonly Row[]> {
  const { count, rounds, limit } = options;
  const order: Order = { manner: "burst", count };
  const everyone = [...both(field.bare), ...both(field.ours), field.sdkV1, field.sdkV03];
  const samples = await interleave(everyone, rounds, (contender) => oneBurst(contender, order));
  const work = `first byte of a ${count}-chunk burst`;
  const row = figureRow(field, (contender) => medianOf(samples, contender), {
    work,
    unit: " ms",
    limit,
  });
  const bare = both(field.bare).map((contender) => medianOf(samples, contender));
  return [{ ...row, ratio: `bare ${pair(bare, " ms")}` }];
}

async function oneBurst(contender: Contender, order: Order): Promise<Figure> {
  await sleep(REST_MS);
  const opened = openStream(contender, order);
  const first = opened.then(async ({ response, started }) => {
    await once(response, "data");
    return performance.now() - started;
  });
  const answer = opened.then(whole);
  const began = await finishes(contender, first);
  const ended = await finishes({ ...contender, capMs: began ? contender.capMs : 0 }, answer);
  if (ended) checkStream(await answer, order);
  else await contender.target.restart();
  return { value: began ? await first : contender.capMs, cutOff: !began };
}
