import { MemoryValues } from "@convoke/engine/memory";
import { expect, onTestFinished, test, vi } from "vitest";
import { openCancelRecords } from "./cancel-records.ts";

const record = { caller: "boss", agent: "worker", owner: "ann", childTaskId: "t1" };

/** The records of processes of one agent that share a database. */
function processes(count: number) {
  vi.useFakeTimers({ toFake: ["Date"], now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  const { open } = new MemoryValues();
  return Array.from({ length: count }, () => openCancelRecords({ values: open }, "boss")!);
}

test("a cancel of a process that is gone is claimed by one other process", async () => {
  const [gone, a, b] = processes(3);
  await gone!.add(record);

  expect(await a!.claim()).toEqual([]);
  vi.setSystemTime(60_000);
  const claimed = await Promise.all([a!.claim(), b!.claim()]);

  expect(claimed.flat()).toEqual([record]);
  expect(await gone!.renew(record)).toBe(false);
});

test("a cancel is not claimed while its process renews it, nor after it was confirmed", async () => {
  const [a, b] = processes(2);
  await a!.add(record);
  vi.setSystemTime(10_000);
  expect(await a!.renew(record)).toBe(true);

  vi.setSystemTime(20_000);
  expect(await b!.claim()).toEqual([]);
  await a!.remove(record);
  vi.setSystemTime(60_000);
  expect(await b!.claim()).toEqual([]);
});

test("a cancel that was given up for a while is claimed after it, and one that was left at once", async () => {
  const [a, b, c] = processes(3);
  await a!.add(record);

  await a!.release(record, 100_000);
  vi.setSystemTime(99_000);
  expect(await b!.claim()).toEqual([]);
  vi.setSystemTime(101_000);
  expect(await b!.claim()).toEqual([record]);
  await b!.release(record, 0);
  expect(await c!.claim()).toEqual([record]);
});
