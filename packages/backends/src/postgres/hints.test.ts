import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { Connection, toAddress } from "./connection.ts";
import { aCutConnection } from "./cut-connection.suite.ts";
import { type Hint, Hints, NotifyBus } from "./hints.ts";

const address = needsPostgres();
const EVENTUALLY = { timeout: 20_000, interval: 20 };

/** The hints of a process, and those that it has received. */
function aProcess(url: string, replica: number) {
  const received: Hint[] = [];
  const connect = (): Connection => new Connection(toAddress(url));
  const bus = new NotifyBus({ connect, channel: "hints" });
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
    a.hints.send({ kind: "mailbox", replica, taskId: "t1" });
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
    .poll(
      () => (a.hints.send({ kind: "mailbox", replica: 9, taskId: "t1" }), b.received.length),
      EVENTUALLY,
    )
    .toBeGreaterThan(0);
  const all = Array.from({ length: 1000 }, (_, index) => `task ${index} of a thousand`);

  a.hints.sendMany(all, (taskIds) => ({ kind: "follow", taskIds }));

  const followed = (): readonly string[] =>
    b.received.flatMap((hint) => (hint.kind === "follow" ? hint.taskIds : []));
  await expect.poll(() => followed().length, EVENTUALLY).toBe(all.length);
  expect(followed()).toEqual(all);
});

/** A connection through a pooler that resets the session after each statement. */
class PooledConnection extends Connection {
  override async listen(...args: Parameters<Connection["listen"]>): Promise<void> {
    await super.listen(...args);
    await this.rows("UNLISTEN *");
  }
}

test.each([
  ["that arrive are used, without a word", Connection, true],
  ["that do not arrive because of a pooler are reported in one line", PooledConnection, false],
])("notifications %s", async (_, Kind, isWorking) => {
  const url = await address();
  const lines: string[] = [];
  const logger = { info: () => {}, warn: (line: string) => void lines.push(line) };
  const connect = (): Connection => new Kind(toAddress(url));
  const bus = new NotifyBus({ connect, channel: "hints", logger });
  onTestFinished(() => bus.close());

  bus.subscribe(() => {});

  const seen = (): unknown => [bus.isWorking, lines.length];
  await expect.poll(seen, EVENTUALLY).toEqual([isWorking, isWorking ? 0 : 1]);
  for (const line of lines) expect(line).toContain("connect to Postgres directly");
});

test("an operator reads that a process cannot listen, and when it can again", async () => {
  const connection = await aCutConnection(await address());
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const connect = (): Connection => new Connection(toAddress(connection.url));
  const bus = new NotifyBus({ connect, channel: "hints", logger: { info: log, warn: log } });
  onTestFinished(() => bus.close());
  bus.subscribe(() => {});
  await expect.poll(() => bus.isWorking, EVENTUALLY).toBe(true);

  connection.pointTo("postgres://localhost/none?host=/nowhere");
  await expect.poll(() => [bus.isWorking, lines.length], EVENTUALLY).toEqual([false, 1]);
  connection.pointTo(await address());
  await expect.poll(() => [bus.isWorking, lines.length], EVENTUALLY).toEqual([true, 2]);

  expect(lines[0]).toContain("it is tried again each second");
  expect(lines[1]).toContain("arrive again");
});
