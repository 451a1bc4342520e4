import { describeBackend } from "@convoke/engine/testing";
import { describe, expect, test } from "vitest";
import { openSqliteBackend, openWithWorker, startWorker } from "./sqlite-backend.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

describeBackend("the SQLite backend", () => openSqliteBackend({ folder: temporaryFolder() }));

// Only how and where commits are made differs: `npm run test:crash`, which CI runs, looks at all of it.
if (process.env["CONVOKE_CRASH_ROWS"] === "all") {
  describeBackend("the SQLite backend that survives the process only", () =>
    openSqliteBackend({ folder: temporaryFolder(), durability: "process" }),
  );
  describe.each(["wait", "later", "thread"] as const)("commits: %s", (mode) => {
    describeBackend("the SQLite backend", () =>
      openWithWorker({ folder: temporaryFolder() }, startWorker, mode),
    );
  });
}

const creation = {
  taskId: "t1",
  create: { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 },
  epoch: 3,
  events: ['{"e":1}', '{"e":2}'],
  state: "working",
  statusAt: 1,
  listed: true,
  message: { messageId: "m1", digest: "d1" },
  snapshot: { seq: 1, json: "{}" },
} as const;

describe("reopening", () => {
  test("all data is still there, and every guarantee still holds", async () => {
    const folder = temporaryFolder();
    const before = await openSqliteBackend({ folder });
    await before.commit(creation);
    await before.commit({
      ...creation,
      taskId: "t2",
      message: { messageId: "m2", digest: "d2" },
      state: "completed",
    });
    const records = await before.tasks.list({ owner: "ann", limit: 9 });
    await before.close();

    const backend = await openSqliteBackend({ folder });

    expect(await backend.tasks.list({ owner: "ann", limit: 9 })).toEqual(records);
    expect(records.records).toHaveLength(2);
    expect(await backend.read("t1", 0, 9)).toMatchObject([
      { seq: 1, json: '{"e":1}' },
      { seq: 2, json: '{"e":2}' },
    ]);
    const { create: _, message: __, snapshot: ___, ...step } = creation;
    expect(await backend.commit({ ...creation, taskId: "t3" })).toEqual({
      kind: "duplicate",
      taskId: "t1",
      digest: "d1",
    });
    expect(await backend.commit({ ...step, epoch: 2 })).toEqual({
      kind: "stale",
      epoch: 3,
      head: 2,
    });
    expect(await backend.commit({ ...step, taskId: "t2" })).toEqual({
      kind: "terminal",
      state: "completed",
    });
    expect(await backend.commit({ ...step, snapshot: { seq: 1, json: "older" } })).toEqual({
      kind: "committed",
      head: 4,
    });
    expect((await backend.tasks.get("t1"))?.snapshot).toEqual({ seq: 1, json: "{}" });
    await expect(backend.commit({ ...step, state: "submitted" })).rejects.toThrow(
      "cannot become submitted",
    );
    await backend.close();
  });

  test("wakeAt is still set, until it is changed or the task ends", async () => {
    const folder = temporaryFolder();
    const { message: _, snapshot: __, ...unwoken } = creation;
    const { create: ___, ...step } = unwoken;
    const before = await openSqliteBackend({ folder });
    for (const [index, taskId] of ["t1", "t2", "t3", "t4"].entries())
      await before.commit({ ...unwoken, taskId, wakeAt: 500 - index });
    await before.commit({ ...step, taskId: "t4", wakeAt: null });
    const records = await before.tasks.waking(9);
    await before.close();

    const backend = await openSqliteBackend({ folder });

    expect(await backend.tasks.waking(9)).toEqual(records);
    expect(records.map(({ taskId }) => taskId)).toEqual(["t3", "t2", "t1"]);
    await backend.commit({ ...step, taskId: "t1" });
    await backend.commit({ ...step, taskId: "t2", wakeAt: null });
    await backend.commit({ ...step, taskId: "t3", state: "completed" });
    expect(await backend.tasks.waking(9)).toMatchObject([{ taskId: "t1", wakeAt: 500 }]);
    await backend.close();
  });

  test("pushes, compacted logs and the messages of pruned tasks are unchanged", async () => {
    const folder = temporaryFolder();
    const { snapshot: _, message, ...step } = creation;
    const before = await openSqliteBackend({ folder });
    const push = { id: "p1", config: "{}", cursor: 1 };
    await before.commit({ ...step, push });
    await before.commit({ ...step, taskId: "t2", state: "completed", message });
    await before.commit({ ...step, taskId: "t3", state: "failed", statusAt: 2 });
    await before.pushes.put("t1", { ...push, id: "p2" });
    await before.pushes.put("t1", { ...push, id: "p2" });
    await before.pushes.progress({
      taskId: "t1",
      id: "p2",
      generation: 2,
      cursor: 2,
      state: "dead",
      failure: { since: 5, problem: "refused" },
    });
    await before.retention.compact("t3", { seq: 2, json: '{"fold":2}' });
    await before.retention.prune({ endedBefore: 2, keep: 9, limit: 9 });
    const records = await before.tasks.list({ owner: "ann", limit: 9 });
    const pushes = await before.pushes.ofTask("t1");
    await before.close();

    const backend = await openSqliteBackend({ folder });

    expect(await backend.tasks.list({ owner: "ann", limit: 9 })).toEqual(records);
    expect(records.records).toMatchObject([
      { taskId: "t3", compacted: true },
      { taskId: "t1", compacted: false },
    ]);
    expect(await backend.read("t3", 0, 9)).toMatchObject([{ seq: 2, json: '{"e":2}' }]);
    expect(await backend.pushes.ofTask("t1")).toEqual(pushes);
    expect(pushes).toMatchObject([{ generation: 1 }, { generation: 2, problem: "refused" }]);
    expect(await backend.pushes.list({ state: "active", limit: 9 })).toEqual([pushes[0]]);
    expect(await backend.pushes.list({ state: "dead", limit: 9 })).toEqual([pushes[1]]);
    const again = { ...step, taskId: "t4", message };
    expect(await backend.commit(again)).toEqual({ kind: "duplicate", taskId: "t2", digest: "d1" });
    expect(await backend.retention.forgetMessages(2, 9)).toBe(1);
    expect(await backend.commit(again)).toMatchObject({ kind: "committed" });
    await backend.close();
  });
});
