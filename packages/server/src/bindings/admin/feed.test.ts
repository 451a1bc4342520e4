import type { Engine, TaskChange } from "@convoke/engine";
import { SseDecoder } from "@convoke/protocol";
import { expect, onTestFinished, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { KeepAlive } from "../keep-alive.ts";
import { Feed } from "./feed.ts";

/** A feed of all tasks of ann, and a client that reads as long as the test allows it. */
function aFeed() {
  const closing = new AbortController();
  let tell: (change: TaskChange) => void = () => undefined;
  let listeners = 0;
  const engine = {
    closing: closing.signal,
    openStreams: { open: () => undefined, close: () => undefined },
    onTaskStatus: (listener: typeof tell) => {
      tell = listener;
      listeners++;
      return () => listeners--;
    },
  } as unknown as Engine;
  const keepAlive = new KeepAlive();
  onTestFinished(() => keepAlive.close());
  const decoder = new SseDecoder();
  const heard: string[] = [];
  const client = { isBehind: false, ends: 0 };
  const feed = new Feed({ engine, keepAlive, owner: "ann", owners: undefined });
  const control = feed.open({
    write: (text) => {
      heard.push(...decoder.push(String(text)).map(({ event, data }) => `${event} ${data}`));
      return !client.isBehind;
    },
    end: () => void client.ends++,
    abort: () => undefined,
  });
  onTestFinished(() => control.closed());
  const change = (taskId: string, head: number): void =>
    tell({ taskId, owner: "ann", state: "working", head });
  return { change, heard, client, control, closing, listeners: () => listeners };
}

test("of the changes of a task that come together, only the last one is written", async () => {
  const { change, heard } = aFeed();

  for (let head = 1; head <= 100; head++) change("t1", head);
  change("t2", 5);

  expect(heard).toEqual([]);
  await expect.poll(() => heard.length).toBeGreaterThan(0);
  expect(heard).toEqual([
    'message {"id":"t1","state":"working","head":100}',
    'message {"id":"t2","state":"working","head":5}',
  ]);
});

verifies(
  "G8",
  "a client that fell behind by a thousand tasks is asked to reload, and then follows again",
  async () => {
    const { change, heard, client, control } = aFeed();
    client.isBehind = true;
    change("t0", 1);
    await expect.poll(() => heard.length).toBe(1);

    for (let n = 1; n <= 5000; n++) change(`t${n}`, 1);
    client.isBehind = false;
    control.drained();

    await expect.poll(() => heard.length).toBe(2);
    expect(heard[1]).toBe("reload {}");
    change("t1", 2);
    await expect
      .poll(() => heard.slice(2))
      .toEqual(['message {"id":"t1","state":"working","head":2}']);
  },
);

test("a feed ends when the server stops, and listens no more", () => {
  const { closing, client, listeners } = aFeed();

  closing.abort();

  expect([client.ends, listeners()]).toEqual([1, 0]);
});
