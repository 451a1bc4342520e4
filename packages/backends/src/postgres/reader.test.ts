import { expect, onTestFinished, test, vi } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { Connection, toAddress } from "./connection.ts";
import { openPostgresBackend } from "./postgres-backend.ts";
import { Reader } from "./reader.ts";

const address = needsPostgres();

test("logs that are read at the same time are read by one statement, each from its position", async () => {
  const url = await address();
  const backend = await openPostgresBackend({ url });
  onTestFinished(() => backend.close());
  const create = { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 };
  const facts = { epoch: 1, state: "working", statusAt: 1, listed: true } as const;
  for (const taskId of ["t1", "t2"]) {
    await backend.commit({ ...facts, taskId, create, events: [`"${taskId} 1"`, `"${taskId} 2"`] });
    const after = { head: 2, epoch: 1 };
    await backend.commit({ ...facts, taskId, after, events: [`"${taskId} 3"`] });
  }
  const connection = new Connection(toAddress(url));
  onTestFinished(() => connection.close());
  const rows = vi.spyOn(connection, "rows");
  const reader = new Reader([connection]);

  const pages = await Promise.all([
    reader.events("t1", 0, 10),
    reader.events("t2", 1, 10),
    reader.events("none", 0, 10),
    reader.events("t2", 0, 1),
  ]);

  const texts = pages.map((page) => page.map(({ json }) => JSON.parse(json) as string));
  expect(texts).toEqual([["t1 1", "t1 2", "t1 3"], ["t2 2", "t2 3"], [], ["t2 1"]]);
  expect(rows).toHaveBeenCalledTimes(1);
});
