import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { ContextWriter, MessageWriter } from "./id-writers.ts";
import { PushWriter } from "./push-table.ts";
import { migrate } from "./schema.ts";
import { TaskCounts } from "./task-counts.ts";
import { StepWriter } from "./step-writer.ts";
import type { SentStep } from "./thread-messages.ts";

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
      expect(writer.write(step, 1)).toEqual(expect.any(Number));
      writer.flush();
    },
    touched: () => db.prepare("SELECT * FROM touched ORDER BY rowid").all(),
  };
}
