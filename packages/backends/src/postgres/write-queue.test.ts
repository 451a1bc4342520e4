import type { CommitResult, CommitStep } from "@convoke/engine";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { openPostgresBackend } from "./postgres-backend.ts";

const address = needsPostgres();

test("steps that arrive while others are being stored share the next transaction", async () => {
  const sizes: number[] = [];
  const metrics = {
    count: () => undefined,
    collect: () => () => undefined,
    observe: (name: string, value: number) => {
      if (name === "commitSteps") sizes.push(value);
    },
  };
  const backend = await openPostgresBackend({ url: await address(), metrics });
  onTestFinished(() => backend.close());
  const create = (taskId: string): CommitStep => ({
    taskId,
    create: { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 },
    epoch: 1,
    events: ['{"e":1}'],
    state: "working",
    statusAt: 1,
    listed: true,
  });

  const commits: Promise<CommitResult>[] = [];
  for (const taskId of ["t0", "t1", "t2"]) {
    commits.push(backend.commit(create(taskId)));
    // Nothing is stored before the event loop turns, but what can begin has begun.
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }
  const results = await Promise.all(commits);

  expect(results.every(({ kind }) => kind === "committed")).toBe(true);
  expect(sizes.toSorted((one, other) => one - other)).toEqual([1, 2]);
});
