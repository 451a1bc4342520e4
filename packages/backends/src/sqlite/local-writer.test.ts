import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { TASK_STATES, isTerminal, mayFollow } from "@convoke/protocol";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { COMMIT_LOG } from "./commit-log.ts";
import { LocalWriter } from "./local-writer.ts";
import { openSqliteBackend } from "./sqlite-backend.ts";
import { openTaskDatabase } from "./task-database.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";
import type { SentStep, WriterSettings } from "./thread-messages.ts";

const RUNS = Number(process.env["CONVOKE_PROPERTY_RUNS"] ?? 10);

/** A step of one of five tasks, with a text that fills the log now and then; and whether the database is read after it. */
const work = fc.record({
  task: fc.nat(4),
  length: fc.oneof(fc.nat(200), fc.nat(120_000)),
  isEnd: fc.boolean(),
  isRead: fc.boolean(),
});

/** What the machine does: nothing, kill the process, or lose its power, which undoes what was not synced. */
const fault = fc.constantFrom("kill", "power");

describe("after a crash", () => {
  verifies(
    ["G1", "G2"],
    "every acknowledged step is there once, whatever of the database was lost with the power",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.array(work, { minLength: 1, maxLength: 25 }), fault), {
            minLength: 1,
            maxLength: 3,
          }),
          async (lives) => {
            const folder = temporaryFolder();
            mkdirSync(folder, { recursive: true });
            const expected = new Map<string, string[]>();
            for (const [steps, end] of lives) live(folder, { steps, end }, expected);

            const backend = await openSqliteBackend({ folder });
            for (const [taskId, events] of expected) {
              const log = await backend.read(taskId, 0, 1_000);
              expect(log.map(({ json }) => json)).toEqual(events);
              expect(log.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
            }
            const { total } = await backend.tasks.list({ owner: "ann", limit: 1 });
            expect(total).toBe(expected.size);
            await backend.close();
            expect(existsSync(join(folder, COMMIT_LOG))).toBe(false);
          },
        ),
        { numRuns: RUNS },
      );
    },
    60_000,
  );
});

describe("a flush that fails for lack of space", () => {
  test("loses nothing, rejects further steps, and succeeds once there is space", () => {
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    const { writer, database } = open(folder);
    expect(writer.write([aCreation("t1", 1_000)])).toMatchObject({ answers: [1] });
    writer.flush();
    const pages = Number(database.prepare("PRAGMA page_count").get()!["page_count"]);
    database.exec(`PRAGMA max_page_count = ${pages}`);

    expect(writer.write([aStep("t1", 10), aCreation("t2", 10)])).toMatchObject({ answers: [2, 1] });
    expect(writer.write([aCreation("t3", 200_000)])).toMatchObject({ answers: [1] });
    expect(writer.flush()).toMatchObject({ code: "SQLITE_FULL" });
    expect(writer.write([aStep("t1", 10)])).toMatchObject({ failure: { code: "SQLITE_FULL" } });
    expect(["t1", "t2", "t3", "t4"].map((id) => writer.isBehind(id))).toEqual([
      true,
      true,
      true,
      false,
    ]);

    database.exec("PRAGMA max_page_count = 100000");
    expect(writer.write([aStep("t1", 10)])).toMatchObject({ answers: [3] });
    expect(writer.flush()).toBeUndefined();
    expect(writer.isBehind()).toBe(false);
    expect(
      database
        .prepare("SELECT task_id, max(last) AS head FROM tasks, segments WHERE task = n GROUP BY n")
        .all(),
    ).toEqual([
      { task_id: "t1", head: 3 },
      { task_id: "t2", head: 1 },
      { task_id: "t3", head: 1 },
    ]);
    expect(database.prepare("SELECT sum(tasks) AS tasks FROM counts").get()).toEqual({ tasks: 3 });
    writer.close();
  });
});

/** One life of a process, up to its end. */
function live(
  folder: string,
  { steps, end }: { readonly steps: readonly Work[]; readonly end: "kill" | "power" },
  expected: Map<string, string[]>,
): void {
  const { writer, database } = open(folder);
  const synced = temporaryFolder();
  keepSynced(folder, synced);
  onSynced(database, () => keepSynced(folder, synced));
  for (const { task, length, isEnd, isRead } of steps) {
    const taskId = `t${task}`;
    const events = expected.get(taskId) ?? [];
    const step = events.length === 0 ? aCreation(taskId, length) : aStep(taskId, length);
    const state = isEnd ? "completed" : "working";
    const written = writer.write([{ ...step, state }]) as { answers: readonly unknown[] };
    if (typeof written.answers[0] === "number") expected.set(taskId, [...events, step.body]);
    if (isRead || writer.isFull) expect(writer.flush()).toBeUndefined();
  }
  if (end === "power") loseUnsynced(folder, synced);
  database.close();
  if (end === "power") loseUnsynced(folder, synced);
}

/** Keeps the database as it is on the disk now. */
function keepSynced(folder: string, synced: string): void {
  rmSync(synced, { recursive: true, force: true });
  cpSync(folder, synced, { recursive: true });
}

/** Calls back after each transaction that SQLite syncs. */
function onSynced(database: DatabaseSync, callBack: () => void): void {
  const exec = database.exec.bind(database);
  let isSynced = false;
  database.exec = (sql) => {
    exec(sql);
    if (sql.includes("synchronous")) isSynced = sql.includes("synchronous = FULL");
    if (sql === "COMMIT" && isSynced) callBack();
  };
}

function loseUnsynced(folder: string, synced: string): void {
  for (const name of ["tasks.db", "tasks.db-wal", "tasks.db-shm"]) {
    rmSync(join(folder, name), { force: true });
    if (existsSync(join(synced, name))) copyFileSync(join(synced, name), join(folder, name));
  }
}

type Work = typeof work extends fc.Arbitrary<infer T> ? T : never;

function open(folder: string): { readonly writer: LocalWriter; readonly database: DatabaseSync } {
  const settings: WriterSettings = {
    file: join(folder, "tasks.db"),
    durability: "power",
    busyTimeoutMs: 1_000,
    maxBytes: undefined,
    terminal: new Set(TASK_STATES.filter(isTerminal)),
    followers: new Map(
      TASK_STATES.map((from) => [from, new Set(TASK_STATES.filter((to) => mayFollow(from, to)))]),
    ),
  };
  const database = openTaskDatabase(settings);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  const logFile = join(folder, COMMIT_LOG);
  return { database, writer: new LocalWriter({ database, settings, logFile, mode: "wait" }) };
}

function aCreation(taskId: string, length: number): SentStep {
  return {
    ...aStep(taskId, length),
    create: { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 },
  };
}

let count = 0;

function aStep(taskId: string, length: number): SentStep {
  const body = JSON.stringify({ event: (count += 1), text: "x".repeat(length) });
  return { taskId, epoch: 1, count: 1, body, state: "working", statusAt: 1, listed: true };
}
