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
