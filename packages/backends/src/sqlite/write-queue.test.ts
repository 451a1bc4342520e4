import { existsSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import type { Backend, CommitStep } from "@convoke/engine";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { readBatch } from "./batch-message.ts";
import { COMMIT_LOG } from "./commit-log.ts";
import type { CommitMode } from "./local-writer.ts";
import { type SqliteBackendOptions, openSqliteBackend, openWithWorker } from "./sqlite-backend.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

describe("group commit", () => {
  test("the steps of one tick are one batch, and those that arrive in the meantime the next", async () => {
    const { backend, batches } = await openObserved();
    const settled: number[] = [];

    const first = Array.from({ length: 50 }, (_, index) => commitNth(backend, index, settled));
    await Promise.resolve();
    first.push(
      ...Array.from({ length: 50 }, (_, index) => commitNth(backend, 50 + index, settled)),
    );
    await new Promise((resolve) => setImmediate(resolve));
    const second = Array.from({ length: 50 }, (_, index) =>
      commitNth(backend, 100 + index, settled),
    );
    await Promise.all([...first, ...second]);

    expect(batches[0]).toBe(100);
    expect(batches.reduce((sum, size) => sum + size)).toBe(150);
    expect(batches.length).toBeLessThanOrEqual(3);
    expect(settled).toEqual(Array.from({ length: 150 }, (_, index) => index));
    await backend.close();
  });

  test("the steps of one task in one batch are one row, and are read back one by one", async () => {
    const { backend, folder } = await openObserved();
    await Promise.all([
      backend.commit(aCreation("t1")),
      ...["2", "3", "4"].map((event) => backend.commit(aStep("t1", [event]))),
    ]);

    expect(await backend.read("t1", 1, 2)).toMatchObject([
      { seq: 2, json: "2" },
      { seq: 3, json: "3" },
    ]);

    await backend.close();
    const db = new DatabaseSync(join(folder, "tasks.db"));
    expect(db.prepare("SELECT first, last FROM segments").all()).toEqual([{ first: 1, last: 4 }]);
    db.close();
  });

  test.each([
    ["a new task", aCreation("new")],
    ["the end of a task", { ...aStep("t0", ["end"]), state: "completed" }],
    ["a message to a task", { ...aStep("t0", ["m"]), message: { messageId: "m1", digest: "d1" } }],
    ["output that something waits for", aStep("t0", ["step"])],
  ] as const)(
    "while many tasks write, their chunks wait for more, and %s does not",
    async (_, step) => {
      const { backend, batches } = await openObserved();
      const taskIds = Array.from({ length: 8 }, (_task, index) => `t${index}`);
      const chunks = (event: string) =>
        taskIds.map((id) => backend.commit({ ...aStep(id, [event]), mayWait: true }));
      await Promise.all(taskIds.map((id) => backend.commit(aCreation(id))));
      await Promise.all(chunks("2"));
      const before = batches.length;
      stopTimers();

      const waiting = chunks("3");
      await new Promise((resolve) => setImmediate(resolve));
      expect(batches).toHaveLength(before);
      await Promise.all([...waiting, backend.commit(step)]);

      expect(batches.slice(before)).toEqual([9]);
      await backend.close();
    },
  );

  test("a batch that has enough does not wait for more", async () => {
    const { backend, batches } = await openObserved();
    const create = (first: number, count: number) =>
      Array.from({ length: count }, (_, index) => backend.commit(aCreation(`t${first + index}`)));
    await Promise.all(create(0, 50));
    const before = batches.length;
    stopTimers();

    await Promise.all(create(50, 200));

    expect(batches.slice(before)).toEqual([200]);
    await backend.close();
  });

  test("the chunks of few tasks never wait for more", async () => {
    const { backend } = await openObserved();
    await backend.commit(aCreation("t1"));
    await backend.commit(aCreation("t2"));
    stopTimers();

    for (const event of ["2", "3", "4"]) {
      const chunk = { ...aStep("t1", [event]), mayWait: true } as const;
      await Promise.all(["t1", "t2"].map((taskId) => backend.commit({ ...chunk, taskId })));
    }

    expect(await backend.read("t2", 0, 9)).toHaveLength(4);
    await backend.close();
  });

  test("other writes share the batch of the steps around them; reclaiming runs alone, in its turn", async () => {
    const { backend, batches } = await openObserved();
    // A migration that drops an index leaves free pages in a new database.
    while (await backend.retention.reclaim());

    const answers = await Promise.all([
      backend.commit(aCreation("t1")),
      backend.pushes.put("t1", { id: "p1", config: "{}", cursor: 0 }),
      backend.retention.prune({ endedBefore: 9, keep: 0, limit: 9 }),
      backend.commit(aStep("t1", ["2"])),
      backend.retention.reclaim(),
      backend.retention.reclaim(),
      backend.commit(aStep("t1", ["3"])),
      backend.pushes.delete("t1", "p1"),
    ]);

    expect(answers).toEqual([
      { kind: "committed", head: 1 },
      expect.objectContaining({ id: "p1" }),
      [],
      { kind: "committed", head: 2 },
      false,
      false,
      { kind: "committed", head: 3 },
      true,
    ]);
    expect(batches).toEqual([4, 2]);
    await backend.close();
  });

  test.each(["auto", "thread"] as const)(
    "a step that is committed again wakes no watcher (%s)",
    async (mode) => {
      const { backend } = await openObserved({}, mode);
      await backend.commit(aCreation("t1"));
      const heads: number[] = [];
      backend.watch("t1", (head) => heads.push(head));
      const step = { ...aStep("t1", ["2"]), after: { head: 1, epoch: 1 } };

      const answers = [await backend.commit(step), await backend.commit(step)];

      expect(answers).toEqual(Array(2).fill({ kind: "committed", head: 2 }));
      expect(heads).toEqual([2]);
      await backend.close();
    },
  );

  test("closing checkpoints the write-ahead log and leaves only the database", async () => {
    const { backend, folder } = await openObserved();
    await backend.commit(aCreation("t1"));

    await backend.close();

    expect(readdirSync(folder).toSorted()).toEqual(["lock.db", "tasks.db"]);
  });
});

describe("a failing disk", () => {
  test("a full database rejects the whole batch, then serves reads and smaller steps", async () => {
    const backend = await openSqliteBackend({ folder: temporaryFolder(), maxBytes: 1_000_000 });
    await backend.commit(aCreation("t1"));
    const tooLarge = JSON.stringify("x".repeat(2_000_000));

    const [small, large] = await Promise.allSettled([
      backend.commit(aStep("t1", ["2"])),
      backend.commit(aStep("t1", [tooLarge])),
    ]);

    const full = {
      status: "rejected",
      reason: expect.objectContaining({ name: "StorageError", code: "SQLITE_FULL" }),
    };
    expect([small, large]).toEqual([full, full]);
    expect(await backend.read("t1", 0, 9)).toMatchObject([{ seq: 1, json: "1" }]);
    expect(await backend.commit(aStep("t1", ["again"]))).toEqual({ kind: "committed", head: 2 });
    expect(await backend.read("t1", 0, 9)).toHaveLength(2);
    await backend.close();
  });

  test("the database grows to its limit and not beyond", async () => {
    const folder = temporaryFolder();
    const backend = await openSqliteBackend({ folder, maxBytes: 400_000 });
    await backend.commit(aCreation("t1"));
    let committed = 1;

    const fill = async () => {
      for (; committed < 1_000; committed += 1)
        await backend.commit(aStep("t1", [JSON.stringify("x".repeat(5_000))]));
    };

    await expect(fill()).rejects.toThrow("full");
    expect(committed).toBeGreaterThan(20);
    expect((await backend.tasks.get("t1"))?.head).toBe(committed);
    await backend.close();
    expect(statSync(join(folder, "tasks.db")).size).toBeLessThanOrEqual(400_000);
  });

  test("a database locked for too long rejects the commit, and the next one works", async () => {
    const { backend, folder } = await openObserved({ busyTimeoutMs: 50 });
    await backend.commit(aCreation("t1"));
    const other = lock(folder);

    await expect(backend.commit(aStep("t1", ["lost"]))).rejects.toMatchObject({
      name: "StorageError",
      code: "SQLITE_BUSY",
    });

    expect(await backend.read("t1", 0, 9)).toHaveLength(1);
    other.close();
    expect(await backend.commit(aStep("t1", ["kept"]))).toEqual({ kind: "committed", head: 2 });
    await backend.close();
  });

  test("a locked database does not keep steps from being committed, but what needs it waits", async () => {
    const folder = temporaryFolder();
    const backend = await openSqliteBackend({ folder, busyTimeoutMs: 50 });
    await backend.commit(aCreation("t1"));
    await backend.commit(aCreation("t2"));
    await backend.tasks.get("t1");
    const other = lock(folder);

    expect(await backend.commit(aStep("t1", ["2"]))).toEqual({ kind: "committed", head: 2 });

    const busy = { name: "StorageError", code: "SQLITE_BUSY" };
    expect(await backend.read("t2", 0, 9)).toHaveLength(1);
    await expect(backend.read("t1", 0, 9)).rejects.toMatchObject(busy);
    await expect(backend.pushes.delete("t1", "p1")).rejects.toMatchObject(busy);
    const reading = backend.read("t1", 0, 9);
    other.close();
    expect(await reading).toHaveLength(2);
    expect(await backend.pushes.delete("t1", "p1")).toBe(false);
    await backend.close();
  });

  test("the log does not take more than it can hold while the database is locked", async () => {
    const folder = temporaryFolder();
    const backend = await openSqliteBackend({ folder, busyTimeoutMs: 50 });
    await backend.commit(aCreation("t1"));
    const other = lock(folder);
    const event = JSON.stringify("x".repeat(100_000));
    let committed = 1;

    const fill = async () => {
      for (; committed < 1_000; committed += 1) await backend.commit(aStep("t1", [event]));
    };

    await expect(fill()).rejects.toMatchObject({ name: "StorageError", code: "SQLITE_BUSY" });
    expect(committed).toBeGreaterThan(3);
    other.close();
    expect((await backend.tasks.get("t1"))?.head).toBe(committed);
    expect(await backend.commit(aStep("t1", [event]))).toMatchObject({ head: committed + 1 });
    await backend.close();
  });

  test.runIf(existsSync("/dev/full"))(
    "if the log cannot be written, the writer thread commits to the database",
    async () => {
      // The check that files were replaced comes by time, and would find that this test does it.
      vi.useFakeTimers({ toFake: ["setInterval"] });
      onTestFinished(() => void vi.useRealTimers());
      const { backend, batches, folder } = await openObserved({}, "auto");
      rmSync(join(folder, COMMIT_LOG));
      symlinkSync("/dev/full", join(folder, COMMIT_LOG));

      await backend.commit(aCreation("t1"));
      expect(await backend.commit(aStep("t1", ["2"]))).toEqual({ kind: "committed", head: 2 });

      expect(batches).toEqual([1, 1]);
      expect(await backend.read("t1", 0, 9)).toHaveLength(2);
      await backend.close();
    },
  );

  test("values that cannot be stored reject only their own step", async () => {
    const { backend } = await openObserved();
    const wrong = { ...aCreation("wrong"), statusAt: {} as number };

    const answers = await Promise.allSettled([
      backend.commit(aCreation("t1")),
      backend.commit(wrong),
      backend.commit(aStep("t1", ["2"])),
    ]);

    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await backend.read("t1", 0, 9)).toHaveLength(2);
    expect(await backend.tasks.get("wrong")).toBeUndefined();
    await backend.close();
  });
});

describe("the end of the writer thread", () => {
  test("is fatal: pending and later commits reject, and it is reported once", async () => {
    const fatal: Error[] = [];
    const { backend, workers, folder } = await openObserved({
      onFatal: (error) => fatal.push(error),
    });
    await backend.commit(aCreation("t1"));

    const pending = [
      backend.commit(aStep("t1", ["2"])),
      backend.pushes.delete("t1", "p1"),
      backend.retention.reclaim(),
      backend.commit(aStep("t1", ["3"])),
    ];
    await workers[0]!.terminate();

    const stopped = "The storage thread stopped: it exited with code 1.";
    for (const commit of pending) await expect(commit).rejects.toThrow(stopped);
    await expect(backend.commit(aStep("t1", ["4"]))).rejects.toThrow(stopped);
    expect(fatal.map(({ message }) => message)).toEqual([stopped]);
    await backend.close();
    await (await openSqliteBackend({ folder })).close();
  });

  test("with an error inside it is reported with its cause", async () => {
    const fatal: Error[] = [];
    const { backend, workers } = await openObserved({ onFatal: (error) => fatal.push(error) });
    await backend.commit(aCreation("t1"));

    workers[0]!.postMessage(null);

    await expect.poll(() => fatal).toHaveLength(1);
    expect(fatal[0]?.message).toMatch(/^The storage thread stopped: .*null/);
    await backend.close();
  });

  test("before it could open the database rejects what it was to write, and releases the folder", async () => {
    const folder = temporaryFolder();
    const start = () => new Worker("process.exit(3)", { eval: true });
    const backend = await openWithWorker({ folder }, start, "thread");

    await expect(backend.commit(aCreation("t1"))).rejects.toThrow("exited with code 3");

    await backend.close();
    await (await openSqliteBackend({ folder })).close();
  });
});

/** A backend whose thread commits all batches, which are counted, and can be ended. */
async function openObserved(
  options: Partial<SqliteBackendOptions> = {},
  mode: CommitMode = "thread",
) {
  const folder = temporaryFolder();
  const batches: number[] = [];
  const workers: Worker[] = [];
  const backend = await openWithWorker(
    { folder, ...options },
    (settings) => {
      const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: settings });
      const post = worker.postMessage.bind(worker);
      worker.postMessage = (message: unknown) => {
        if (Array.isArray(message)) batches.push(readBatch(message).length);
        post(message);
      };
      workers.push(worker);
      return worker;
    },
    mode,
  );
  return { backend, batches, folder, workers };
}

/** Another program writes to the database, and locks out all other writers until it is closed. */
function lock(folder: string): DatabaseSync {
  const other = new DatabaseSync(join(folder, "tasks.db"));
  other.exec("BEGIN IMMEDIATE");
  return other;
}

/** From now on, whatever waits for a time waits until the end of the test. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

async function commitNth(backend: Backend, index: number, settled: number[]): Promise<void> {
  await backend.commit(aCreation(`t${index}`));
  settled.push(index);
}

function aCreation(taskId: string): CommitStep {
  return {
    ...aStep(taskId, ["1"]),
    create: { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 },
  };
}

function aStep(taskId: string, events: readonly string[]): CommitStep {
  return { taskId, epoch: 1, events, state: "working", statusAt: 1, listed: true };
}
