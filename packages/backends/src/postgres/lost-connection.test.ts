import type { Backend, CommitStep } from "@convoke/engine";
import type { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { Connection, toAddress } from "./connection.ts";
import { aCutConnection } from "./cut-connection.suite.ts";
import { openPostgresBackend } from "./postgres-backend.ts";

const address = needsPostgres();

async function anOpen(url: string): Promise<Backend> {
  const backend = await openPostgresBackend({ url });
  onTestFinished(() => backend.close());
  return backend;
}

const creation: CommitStep = {
  taskId: "t1",
  create: { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 },
  after: { head: 0, epoch: 1 },
  epoch: 1,
  events: ['{"e":1}'],
  state: "working",
  statusAt: 1,
  listed: true,
  message: { messageId: "m1", digest: "d1" },
};

const {
  create: _,
  message: __,
  ...next
} = {
  ...creation,
  after: { head: 1, epoch: 1 },
  events: ['{"e":2}'],
};

test.each([
  ["a new task", [], creation],
  ["an append", [creation], next],
  ["a change", [creation], { ...next, state: "completed" } as const],
])(
  "a step whose answer was lost is committed when it is sent again, and written once: %s",
  async (_, before, step) => {
    const url = await address();
    const connection = await aCutConnection(url);
    const [backend, witness] = [await anOpen(connection.url), await anOpen(url)];
    for (const earlier of before) await backend.commit(earlier);
    const head = before.length + 1;

    connection.loseAnswers();
    const lost = backend.commit(step).catch((error: unknown) => error);
    await expect
      .poll(async () => (await witness.tasks.get("t1"))?.head, { timeout: 20_000 })
      .toBe(head);
    connection.cut();

    expect(await lost).toMatchObject({ name: "StorageError", isPermanent: false });
    expect(await backend.commit(step)).toEqual({ kind: "committed", head });
    expect(await backend.read("t1", 0, 9)).toHaveLength(head);
    const other = await backend.commit({
      ...next,
      events: ['{"e":3}'],
      after: { head: 0, epoch: 1 },
    });
    expect(other.kind).toBe(step.state === "completed" ? "terminal" : "stale");
  },
);

test("after the connections were lost, reads and commits work again", async () => {
  const connection = await aCutConnection(await address());
  const backend = await anOpen(connection.url);
  await backend.commit(creation);
  expect(await backend.tasks.get("t1")).toMatchObject({ head: 1 });

  connection.cut();

  expect(await backend.tasks.get("t1")).toMatchObject({ head: 1 });
  await expect
    .poll(() => backend.commit(next).catch(() => undefined), { timeout: 20_000 })
    .toEqual({ kind: "committed", head: 2 });
});

test("a backend closes although the database does not answer", async () => {
  const connection = await aCutConnection(await address());
  const backend = await openPostgresBackend({ url: connection.url });
  await backend.commit(creation);
  expect(await backend.tasks.get("t1")).toMatchObject({ head: 1 });

  connection.hold();

  await backend.close();
});

test("tasks that were claimed without an answer are found, and can be claimed again", async () => {
  const url = await address();
  const connection = await aCutConnection(url);
  const witness = await anOpen(url);
  const run = (taskId: string): CommitStep => {
    const { message: ___, ...step } = creation;
    return { ...step, taskId, create: { ...step.create!, agentId: "greeter" }, running: true };
  };
  await witness.commit(run("t1"));
  await witness.sharing!.release(["t1"]);
  const backend = await anOpen(connection.url);
  expect(await backend.tasks.get("t2")).toBeUndefined();
  const query = { agentIds: ["greeter"], dueAt: 0, limit: 9 };

  connection.loseAnswers();
  const lost = backend.sharing!.claim(query).catch((error: unknown) => error);
  await expect
    .poll(async () => (await witness.tasks.get("t1"))?.epoch, { timeout: 20_000 })
    .toBe(2);
  connection.cut();

  expect(await lost).toMatchObject({ name: "StorageError" });
  await expect
    .poll(() => backend.commit(run("t2")).catch(() => undefined), { timeout: 20_000 })
    .toBeTruthy();
  expect(await backend.sharing!.ownTasks()).toEqual(["t1", "t2"]);
  expect(await backend.sharing!.claim(query)).toEqual([]);
  const again = await backend.sharing!.claim({ ...query, abandoned: ["t1"] });
  expect(again).toMatchObject([{ taskId: "t1", epoch: 3 }]);
});

test("steps of two processes at the same places: each place is written by one of them", async () => {
  const url = await address();
  const backends = [await anOpen(url), await anOpen(url)];
  await backends[0]!.commit(creation);

  for (let head = 1; head <= 20; head += 1) {
    const results = await Promise.all(
      backends.map((backend, index) => {
        const kind = head % 3 === 0 ? { statusAt: head } : {};
        return backend.commit({
          ...next,
          ...kind,
          after: { head, epoch: 1 },
          events: [`{"by":${index}}`],
        });
      }),
    );
    expect(results.map(({ kind }) => kind).toSorted()).toEqual(["committed", "stale"]);
  }

  expect(await backends[1]!.read("t1", 0, 99)).toHaveLength(21);
});

test.each([
  ["an append", next],
  ["a change", { ...next, statusAt: 9 }],
])("nothing is written after an end of a log that the database has lost: %s", async (_, step) => {
  const url = await address();
  const backend = await anOpen(url);
  await backend.commit(creation);
  await backend.commit({ ...next, events: ['{"e":2}', '{"e":3}'] });
  const admin = new Connection(toAddress(url));
  onTestFinished(() => admin.close());

  // A server that took over for another one may not have its last transactions.
  await admin.rows("DELETE FROM @.segment WHERE first = 2");

  const late = await backend.commit({ ...step, after: { head: 3, epoch: 1 }, events: ['{"e":4}'] });
  expect(late).toEqual({ kind: "stale", epoch: 1, head: 1 });
  expect(await backend.read("t1", 0, 9)).toHaveLength(1);
});

test("a message that is sent to two processes at the same time creates one task", async () => {
  const url = await address();
  const backends = [await anOpen(url), await anOpen(url)];

  for (let round = 0; round < 10; round += 1) {
    const message = { messageId: `m${round}`, digest: "d" };
    const results = await Promise.all(
      backends.map((backend, index) =>
        backend.commit({ ...creation, taskId: `t${round}-${index}`, message }),
      ),
    );
    const created = results.findIndex(({ kind }) => kind === "committed");
    expect(results[1 - created]).toEqual({
      kind: "duplicate",
      taskId: `t${round}-${created}`,
      digest: "d",
    });
  }
});

test("a connection that ends late does not replace the one that took its place", async () => {
  const target = toAddress(await address());
  const clients: Client[] = [];
  const connection = new Connection({
    ...target,
    createClient: async () => {
      const client = await target.createClient();
      clients.push(client);
      return client;
    },
  });
  onTestFinished(() => connection.close());
  await connection.rows("SELECT 1");
  // As if its socket had failed, and were not closed yet.
  clients[0]!.emit("error", new Error("the connection was lost"));
  await connection.rows("SELECT 2");

  await clients[0]!.end();
  await connection.rows("SELECT 3");

  expect(clients).toHaveLength(2);
});
