import { expect, test } from "vitest";
import { CardCache } from "./fetch-agent-card.ts";

const MINUTE_MS = 60_000;

test("a stale card is removed when another is fetched", async () => {
  const cache = new CardCache();
  let now = 0;
  const read = (key: string) =>
    cache.read({
      key,
      now: () => now,
      load: async () => ({ name: key, version: "1" }),
      signal: undefined,
    });
  await read("a");
  await read("b");
  now = 3 * MINUTE_MS;
  await read("c");
  expect(cache.size).toBe(3);

  now = 6 * MINUTE_MS;
  await read("d");

  expect(cache.size).toBe(2);
});

test("it does not grow forever", async () => {
  const cache = new CardCache();

  for (let count = 0; count < 1000; count += 1) {
    await cache.read({
      key: `${count}`,
      now: () => 0,
      load: async () => ({ name: "a", version: "1" }),
      signal: undefined,
    });
  }

  expect(cache.size).toBe(256);
});
