import { SseDecoder } from "@convoke/protocol";
import { type Answer, inFlight, send, stream } from "./client.ts";
import { type Contender, type Field, both, peersOf } from "./contenders.ts";
import { type Order, chunkText } from "./targets/order.ts";

/**
 * A figure for a wrong answer is worthless: every contender must answer correctly before it is
 * measured, and often enough that its code is compiled.
 */
export async function checkField(field: Field, times: WarmUp): Promise<void> {
  const { bare, ours, memory } = field;
  for (const contender of [...both(bare), ...both(ours), ...both(memory), ...peersOf(field)]) {
    const sends = await inFlight(32, times.sends, () =>
      send(contender, { manner: "burst", count: 1 }),
    );
    for (const answer of sends) checkTask(answer, 1);
    for (const order of warmUps(contender, times))
      checkStream(await stream(contender, order), order);
  }
  for (const version of ["0.3", "1.0"] as const) {
    await compareBytes(bare[version], ours[version]);
    await compareBytes(bare[version], memory[version]);
  }
}

interface WarmUp {
  readonly sends: number;
  readonly streams: number;
}

function warmUps({ maxRounds }: Contender, { streams }: WarmUp): readonly Order[] {
  const short: readonly Order[] = [
    { manner: "burst", count: 100 },
    { manner: "turns", count: 100 },
  ];
  const long: Order = { manner: "burst", count: 1000 };
  return maxRounds === 1 ? short : [...short, ...Array<Order>(streams).fill(long)];
}

/** Every chunk is present, once, in order, and the stream ended with its task. */
export function checkStream({ body }: Answer, { count }: Order): void {
  const events = new SseDecoder().push(body).map(({ data }) => data);
  const texts = events
    .map((data) => /"text":"(chunk \d+ [^"]*)"/.exec(data)?.[1])
    .filter((text) => text !== undefined);
  if (texts.join("") !== expected(count))
    throw new Error(`expected ${count} chunks, got ${texts.length}: ${body.slice(0, 500)}`);
  if (!/completed|COMPLETED/.test(events.at(-1) ?? ""))
    throw new Error("the stream did not end with its task");
}

/** The task is completed and has the complete answer. */
export function checkTask({ body }: Answer, count: number): void {
  const texts = Array.from(body.matchAll(/"text":"(chunk [^"]*)"/g), ([, text]) => text);
  if (texts.join("") === expected(count) && /completed|COMPLETED/.test(body)) return;
  throw new Error(`this is not the completed task: ${body.slice(0, 500)}`);
}

/** Ours and bare must write the same events; otherwise their ratio means nothing. */
async function compareBytes(bare: Contender, ours: Contender): Promise<void> {
  const order: Order = { manner: "burst", count: 100 };
  const sizes = async (contender: Contender): Promise<readonly number[]> => [
    (await stream(contender, order)).body.length,
    (await send(contender, { ...order, count: 1 })).body.length,
  ];
  const theirs = await sizes(bare);
  for (const [place, size] of (await sizes(ours)).entries()) {
    const floor = theirs[place] ?? 0;
    if (Math.abs(size / floor - 1) > 0.05)
      throw new Error(`ours writes ${size} bytes and bare ${floor}: not the same work`);
  }
}

function expected(count: number): string {
  return Array.from({ length: count }, (_, place) => chunkText(place)).join("");
}
