import type { AgentEvent } from "@convoke/protocol";
import { expect, test } from "vitest";
import { Outbox } from "./outbox.ts";

const note = (n: number): AgentEvent => ({ kind: "internal:acme/n", taskId: "t1", n });

function anOutbox(
  body: (outbox: Outbox) => Promise<void>,
  onLeave = (): void => undefined,
): Outbox {
  return new Outbox({ turn: { durable: async () => undefined }, body, onLeave });
}

test("nothing starts before it is read; a burst is one batch, and everything stays in order", async () => {
  let hasBegun = false;
  const outbox: Outbox = anOutbox(async () => {
    hasBegun = true;
    for (let n = 0; n < 10; n++) outbox.put(note(n));
  });
  expect(hasBegun).toBe(false);

  const batches: (readonly AgentEvent[])[] = [];
  for await (const batch of outbox) batches.push(batch);

  expect(batches).toHaveLength(1);
  expect(batches.flat()).toEqual(Array.from({ length: 10 }, (_, n) => note(n)));
});

test("a writer waits while nothing is read, and durable means read", async () => {
  const steps: string[] = [];
  const outbox: Outbox = anOutbox(async () => {
    for (let n = 0; n < 300; n++) {
      outbox.put(note(n));
      const room = outbox.room();
      if (room !== undefined) {
        steps.push(`full at ${n + 1}`);
        await room;
      }
    }
    await outbox.durable();
    steps.push("durable");
  });

  const first = await outbox.next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect((first.value as readonly AgentEvent[]).length).toBe(64);
  expect(steps).toEqual([]);
  let count = 64;
  for await (const batch of outbox) count += batch.length;

  expect(count).toBe(300);
  expect(steps.at(-1)).toBe("durable");
});

test("an error is thrown after the earlier output", async () => {
  const outbox: Outbox = anOutbox(async () => {
    outbox.put(note(1));
    throw new Error("broken");
  });

  expect((await outbox.next()).value).toEqual([note(1)]);
  await expect(outbox.next()).rejects.toThrow("broken");
});

test("after the reader has left, output is dropped and the writer is notified", async () => {
  let hasLeft = false;
  const outbox: Outbox = anOutbox(
    async () => {
      outbox.put(note(1));
      await new Promise(() => undefined);
    },
    () => (hasLeft = true),
  );
  await outbox.next();

  await outbox.return();
  outbox.put(note(2));

  expect(hasLeft).toBe(true);
  expect(await outbox.next()).toEqual({ done: true, value: undefined });
});
