import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { toAddress } from "./connection.ts";
import { aCutConnection } from "./cut-connection.suite.ts";
import { type Hint, Hints } from "./hints.ts";
import { openNotifyBus } from "./postgres-backend.ts";

const address = needsPostgres();
const EVENTUALLY = { timeout: 20_000, interval: 20 };

/** The hints of a process, and those that it has received. */
function aProcess(url: string, replica: number) {
  const received: Hint[] = [];
  const bus = openNotifyBus(toAddress(url));
  const hints = new Hints(
    bus,
    () => replica,
    (hint) => received.push(hint),
  );
  onTestFinished(() => bus.close());
  return { hints, received };
}

test("a hint reaches other processes and not its sender, also after a connection was lost", async () => {
  const url = await address();
  const connection = await aCutConnection(url);
  const [a, b] = [aProcess(url, 1), aProcess(connection.url, 2)];
  const isHeard = (replica: number): boolean => {
    a.hints.send({ kind: "mailbox", replica });
    return b.received.some((hint) => hint.kind === "mailbox" && hint.replica === replica);
  };

  await expect.poll(() => isHeard(1), EVENTUALLY).toBe(true);
  connection.cut();
  await expect.poll(() => isHeard(2), EVENTUALLY).toBe(true);

  expect(a.received).toEqual([]);
});

test("a hint about more tasks than fit into a notification is sent in parts", async () => {
  const url = await address();
  const [a, b] = [aProcess(url, 1), aProcess(url, 2)];
  await expect
    .poll(() => (a.hints.send({ kind: "mailbox", replica: 9 }), b.received.length), EVENTUALLY)
    .toBeGreaterThan(0);
  const all = Array.from({ length: 1000 }, (_, index) => `task ${index} of a thousand`);

  a.hints.sendMany(all, (taskIds) => ({ kind: "follow", taskIds }));

  const followed = (): readonly string[] =>
    b.received.flatMap((hint) => (hint.kind === "follow" ? hint.taskIds : []));
  await expect.poll(() => followed().length, EVENTUALLY).toBe(all.length);
  expect(followed()).toEqual(all);
});
