import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openSqliteBackend } from "./sqlite-backend.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

test("a read that stops in the middle keeps no transaction open", async () => {
  const folder = temporaryFolder();
  const backend = await openSqliteBackend({ folder });
  const step = {
    taskId: "t1",
    epoch: 1,
    events: ["1", "2"],
    state: "working",
    statusAt: 0,
    listed: true,
  } as const;
  await backend.commit({
    ...step,
    create: { owner: "ann", contextId: "c", agent: "a", createdAt: 0 },
  });
  for (let count = 0; count < 5; count += 1) await backend.commit(step);

  expect(await backend.read("t1", 1, 2)).toHaveLength(2);
  await backend.tasks.list({ owner: "ann", limit: 1 });
  await backend.commit(step);

  const other = new DatabaseSync(join(folder, "tasks.db"));
  expect(other.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()).toMatchObject({ busy: 0, log: 0 });
  other.close();
  await backend.close();
});

test.each([14, 15, 16, 17, 40])("a log of %i rows is read as it was written", async (rows) => {
  const backend = await openSqliteBackend({ folder: temporaryFolder() });
  const create = { owner: "ann", contextId: "c", agent: "a", createdAt: 0 };
  const step = { taskId: "t1", epoch: 1, state: "working", statusAt: 0, listed: true } as const;
  for (let row = 0; row < rows; row += 1) {
    const events = [`{"row":${row}}`, `{"row":${row},"second":true}`];
    await backend.commit({ ...step, events, ...(row === 0 && { create }) });
  }

  const log = await backend.read("t1", 0, 256);

  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
  expect(log.filter((_, index) => index % 2 === 0).map(({ json }) => json)).toEqual(
    Array.from({ length: rows }, (_, row) => `{"row":${row}}`),
  );
  expect(await backend.read("t1", 0, 20)).toEqual(log.slice(0, 20));
  await backend.close();
});
