import { expect, test } from "vitest";
import { stoppable } from "./stoppable.ts";

test("a stream that hangs is left when the signal fires", async () => {
  const abort = new AbortController();
  let isReturned = false;
  const hanging = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<never>(() => undefined),
      return: async () => {
        isReturned = true;
        return { done: true as const, value: undefined };
      },
    }),
  };

  const next = stoppable(hanging, abort.signal).next();
  abort.abort(new Error("enough"));

  await expect(next).rejects.toThrow("enough");
  expect(isReturned).toBe(true);
});

test("a stream yields its values and its return value, and throws its own error", async () => {
  const { signal } = new AbortController();
  async function* source(): AsyncGenerator<number, string> {
    yield 1;
    yield 2;
    return "end";
  }
  const iterator = stoppable(source(), signal);

  expect([await iterator.next(), await iterator.next(), await iterator.next()]).toEqual([
    { done: false, value: 1 },
    { done: false, value: 2 },
    { done: true, value: "end" },
  ]);
  // oxlint-disable-next-line require-yield -- it fails before it says anything
  async function* failing(): AsyncGenerator<number> {
    throw new Error("broken");
  }
  await expect(stoppable(failing(), signal).next()).rejects.toThrow("broken");
});
