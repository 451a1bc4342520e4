import { once } from "node:events";
import { expect, test } from "vitest";
import { Watchers } from "./watchers.ts";

test("a watcher that throws is reported and does not affect others", async () => {
  const watchers = new Watchers();
  const heads: number[] = [];
  const warned = once(process, "warning");
  watchers.watch("t1", () => {
    throw new Error("a watcher's own mistake");
  });
  watchers.watch("t1", (head) => heads.push(head));

  watchers.wake("t1", 3);

  expect(heads).toEqual([3]);
  expect(await warned).toEqual([expect.objectContaining({ message: "a watcher's own mistake" })]);
});

test("a late stop does not end the watch of later ones", () => {
  const watchers = new Watchers();
  const heads: number[] = [];
  const stop = watchers.watch("t1", () => {});
  stop();
  watchers.watch("t1", (head) => heads.push(head));

  stop();
  watchers.wake("t1", 1);

  expect(heads).toEqual([1]);
});
