import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { ContextWriter, MessageWriter } from "./id-writers.ts";
import { PushWriter } from "./push-table.ts";
import { migrate } from "./schema.ts";
import { TaskCounts } from "./task-counts.ts";
import { type CachedTask, StepWriter, TaskCache } from "./step-writer.ts";
import type { SentStep } from "./thread-messages.ts";

test("recently used entries stay, others are dropped, and the size is bounded", () => {
  const cache = new TaskCache(10);
  cache.keep("often", aTask(0));
  cache.keep("once", aTask(1));

  for (let n = 2; n < 100; n += 1) {
    cache.keep(`t${n}`, aTask(n));
    expect(cache.get("often")?.n).toBe(0);
  }

  expect(cache.get("once")).toBeUndefined();
  const kept = Array.from({ length: 100 }, (_, n) => cache.get(`t${n}`)).filter(
    (task) => task !== undefined,
  );
  expect(kept.length).toBeLessThanOrEqual(20);
});

test("a dropped entry is gone, however recently it was used", () => {
  const cache = new TaskCache(2);
  for (const [n, taskId] of ["old", "young", "youngest"].entries()) cache.keep(taskId, aTask(n));

  cache.drop("old");
  cache.drop("youngest");

  expect(cache.get("old")).toBeUndefined();
  expect(cache.get("youngest")).toBeUndefined();
  expect(cache.get("young")?.n).toBe(1);
});

const append: SentStep = {
  taskId: "t1",
  epoch: 1,
  count: 1,
  body: "{}",
  state: "working",
  statusAt: 1,
  listed: true,
};
const creation: SentStep = {
  ...append,
  create: { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 },
};

test("a plain append updates no row of tasks, whether the task has a wakeAt or not", () => {
  const { write, touched } = openWriter();
  write(creation);
  write({ ...creation, taskId: "t2", wakeAt: 500 });

  write(append);
  write({ ...append, taskId: "t2" });
  write({ ...append, wakeAt: null });
  write({ ...append, taskId: "t2", wakeAt: 500 });

  expect(touched()).toEqual([]);
});

test("wakeAt is written when it changes, and not with other changes", () => {
  const { write, touched } = openWriter();
  write(creation);

  write({ ...append, wakeAt: 500 });
  write({ ...append, wakeAt: 600 });
  write({ ...append, wakeAt: null });
  write({ ...append, statusAt: 2 });

  expect(touched()).toEqual([
    { task: "t1", wakeAt: 500, statusAt: 1 },
    { task: "t1", wakeAt: 600, statusAt: 1 },
    { task: "t1", wakeAt: null, statusAt: 1 },
    { task: "t1", wakeAt: null, statusAt: 2 },
  ]);
});

/** A writer on a database that records each update of a task. */
function openWriter() {
  const db = new DatabaseSync(":memory:");
  migrate(db);
  db.exec(`
    CREATE TABLE touched (task, wakeAt, statusAt);
    CREATE TRIGGER touching AFTER UPDATE ON tasks BEGIN
      INSERT INTO touched VALUES (new.task_id, new.wake_at, new.status_at);
    END`);
  const writer = new StepWriter(db, {
    terminal: new Set(),
    followers: new Map([["working", new Set(["working"])]]),
    messages: new MessageWriter(db),
    contexts: new ContextWriter(db),
    pushes: new PushWriter(db),
    counts: new TaskCounts(db),
  });
  return {
    write: (step: SentStep): void => {
      expect(writer.write(step)).toEqual(expect.any(Number));
      writer.flush();
    },
    touched: () => db.prepare("SELECT * FROM touched ORDER BY rowid").all(),
  };
}

function aTask(n: number): CachedTask {
  return {
    n,
    owner: "ann",
    agentId: null,
    epoch: 1,
    state: "working",
    statusAt: 0,
    listed: true,
    head: 0,
    written: 0,
    snapshotSeq: 0,
    wakeAt: null,
  };
}
