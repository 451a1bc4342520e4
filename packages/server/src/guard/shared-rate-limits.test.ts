import { type RateStore, createJsonLogger } from "@convoke/engine";
import { expect, test } from "vitest";
import { MemoryRateLimits } from "./rate-limit.ts";
import { SharedRateLimits } from "./shared-rate-limits.ts";

/** A minute, and so many requests that 20 are drawn at once. */
const RATE = { limit: 1000, windowMs: 60_000 };

/** The buckets that servers share, and how often they were asked. */
class SharedBuckets implements RateStore {
  readonly #buckets = new MemoryRateLimits();
  draws = 0;
  now = 0;
  isFailing = false;

  async draw(key: string, rate: typeof RATE, amount: number) {
    this.draws++;
    if (this.isFailing) throw new Error("the database is away");
    const take = (cost: 0 | 1) => this.#buckets.take(key, rate, { cost, now: this.now });
    let drawn = 0;
    while (drawn < amount && take(1).isAllowed) drawn++;
    return { drawn, left: take(0).tokens };
  }

  async arrive(): Promise<number> {
    return 0;
  }

  async forget(): Promise<void> {}
}

function aServer(store: SharedBuckets) {
  const lines: string[] = [];
  const limits = new SharedRateLimits(
    store,
    createJsonLogger("warn", (line) => lines.push(line)),
  );
  const take = (cost: 0 | 1 = 1) => limits.take("ann", RATE, { cost, now: store.now });
  /** How many of so many requests are admitted. */
  const send = async (count: number): Promise<number> => {
    let admitted = 0;
    for (let index = 0; index < count; index++) admitted += Number((await take()).isAllowed);
    return admitted;
  };
  return { send, take, lines };
}

test("most requests do not wait for the store, and rejected ones never", async () => {
  const store = new SharedBuckets();
  const { send, take } = aServer(store);

  expect(await send(1000)).toBe(1000);
  expect(store.draws).toBeLessThanOrEqual(100);
  expect(await send(1)).toBe(0);

  const { draws } = store;
  expect(await send(500)).toBe(0);
  expect(take(0)).toMatchObject({ isAllowed: false });
  expect(store.draws).toBe(draws);
});

test("servers admit together what the limit allows, and what they have drawn before", async () => {
  const store = new SharedBuckets();
  const [a, b] = [aServer(store), aServer(store)];
  await a.send(1);

  store.now = RATE.windowMs - 1;
  const admitted = (await a.send(1000)) + (await b.send(1000));

  expect(admitted).toBeGreaterThan(980);
  expect(admitted).toBeLessThanOrEqual(RATE.limit + 2 * 20);
});

test("a look asks nothing, and the remaining requests are what all servers have left", async () => {
  const store = new SharedBuckets();
  const [a, b] = [aServer(store), aServer(store)];
  expect(a.take(0)).toEqual({ isAllowed: true, tokens: 1000 });
  expect(store.draws).toBe(0);

  await a.send(500);

  const { tokens } = await b.take();
  expect(tokens).toBeGreaterThanOrEqual(479);
  expect(tokens).toBeLessThan(500);
});

test("while the store fails, each server counts alone and says so once", async () => {
  const store = new SharedBuckets();
  store.isFailing = true;
  const { send, lines } = aServer(store);

  expect(await send(1100)).toBe(1000);
  expect(lines.filter((line) => line.includes("counted by this server alone"))).toHaveLength(1);

  store.isFailing = false;
  expect(await send(1)).toBe(1);
});
