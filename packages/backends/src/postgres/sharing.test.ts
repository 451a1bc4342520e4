import { describeHints, describeSharing } from "@convoke/engine/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { opensSharedStorages } from "./empty-schema.suite.ts";
import type { Bus } from "./hints.ts";
import { noHints } from "./no-hints.suite.ts";
import { openNotifyBus } from "./postgres-backend.ts";

const openStorage = opensSharedStorages(openNotifyBus);
const openDeafStorage = opensSharedStorages(noHints, { settleMs: 100 });

describeSharing("processes on one Postgres database", openStorage);

test("a list can wait until what other processes have begun to write is stored", async () => {
  const storage = await openStorage();
  onTestFinished(() => storage.close());
  const [a, b] = [await storage.open(), await storage.open()];
  const create = { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 };
  const step = { epoch: 1, events: ["{}"], state: "working", statusAt: 1, listed: true } as const;
  // A question that is sent before the other process listens is not answered.
  const hasAnswer = () =>
    Promise.race([b.sharing.settled(Date.now()).then(() => true), sleep(1000)]);
  await expect.poll(hasAnswer, { timeout: 20_000 }).toBe(true);

  const commits = Array.from({ length: 50 }, (_, index) =>
    a.commit({ taskId: `t${index}`, create, ...step }),
  );
  const settled = b.sharing.settled(Date.now()).then(() => "was answered");

  expect(await Promise.race([settled, sleep(20_000, "was not answered")])).toBe("was answered");
  expect((await b.tasks.list({ owner: "ann", limit: 99 })).records).toHaveLength(50);
  await Promise.all(commits);
});

test("a list does not wait for long for a process that does not answer", async () => {
  const storage = await openDeafStorage();
  onTestFinished(() => storage.close());
  const [, b] = [await storage.open(), await storage.open()];

  await b.sharing.settled(Date.now());
});

test("processes hear that another one has given up a task", async () => {
  const storage = await openStorage();
  onTestFinished(() => storage.close());
  const [a, b] = [await storage.open(), await storage.open()];
  let heard = 0;
  b.sharing.onReleased(() => heard++);
  a.sharing.onReleased(() => (heard = NaN));

  // The first ones may be sent before the other process listens.
  await expect
    .poll(() => a.sharing.release(["t1"]).then(() => heard), { timeout: 20_000 })
    .toBeGreaterThan(0);
});

describeHints("without hints", opensSharedStorages(noHints));

describeHints("with hints that are lost, repeated and late", opensSharedStorages(aBadBus()));

/**
 * Buses of one process that lose each third hint, and deliver the others twice, every other time the
 * newest first.
 */
function aBadBus(): () => Bus {
  const receivers = new Set<(text: string) => void>();
  let count = 0;
  let deliveries = 0;
  let late: string[] = [];
  const deliver = (): void => {
    const texts = ++deliveries % 2 === 0 ? late : late.toReversed();
    late = [];
    for (const text of texts) for (const receive of receivers) receive(text);
  };
  return () => {
    let own: ((text: string) => void) | undefined;
    return {
      isWorking: true,
      publish: (text) => {
        // Those who are not known to follow a task would look only.
        if (!text.includes('"follow"') && ++count % 3 === 0) return;
        late.push(text, text);
        setTimeout(deliver, 20);
      },
      subscribe: (receive) => {
        own = receive;
        receivers.add(receive);
      },
      close: async () => {
        if (own !== undefined) receivers.delete(own);
      },
    };
  };
}
