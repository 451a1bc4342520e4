import type { CommitStep } from "@convoke/engine";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { Connection, toAddress } from "./connection.ts";
import { openPostgresBackend } from "./postgres-backend.ts";
import { StepWriter } from "./step-writer.ts";

const address = needsPostgres();

test("a retried message finds its task, although the process forgets what it knows of it meanwhile", async () => {
  const url = await address();
  const backend = await openPostgresBackend({ url });
  onTestFinished(() => backend.close());
  const facts = { taskId: "t1", epoch: 1, state: "working", statusAt: 1, listed: true } as const;
  const message = { messageId: "m1", digest: "d1" };
  const create = { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 };
  await backend.commit({ ...facts, create, message, events: ['{"e":1}'] });
  const connection = new Connection(toAddress(url));
  onTestFinished(() => connection.close());
  const steps = new StepWriter({
    replica: () => 1,
    onWritten: () => undefined,
    onCommitted: () => undefined,
  });
  // Another process has claimed the task, for example.
  const rows = connection.rows.bind(connection);
  connection.rows = async (...statement) => {
    // The tasks are read first: this is called before what is read next.
    steps.forget("t1");
    return rows(...statement);
  };

  const retry: CommitStep = { ...facts, after: { head: 1, epoch: 1 }, message, events: [] };
  const results = await steps.write([retry], { connection, shard: 0 });

  expect(results).toEqual([{ kind: "duplicate", taskId: "t1", digest: "d1" }]);
});
