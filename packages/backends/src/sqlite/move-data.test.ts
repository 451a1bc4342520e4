import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DataFolderBusyError } from "./data-folder.ts";
import type { CommitMode } from "./local-writer.ts";
import { moveDataFolder } from "./move-data.ts";
import { openSqliteBackend } from "./sqlite-backend.ts";
import { startChild } from "./start-child.suite.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

const isGreeter = (agent: string): boolean => agent === "greeter";

/** A folder whose writer was killed: as earlier versions left it, with a write-ahead log of SQLite. */
async function anEarlierFolder(mode: CommitMode = "thread"): Promise<string> {
  const from = temporaryFolder();
  const child = await startChild(from, ["write", "power", mode]);
  await expect.poll(() => child.lines().length).toBeGreaterThan(3);
  await child.kill();
  writeFileSync(join(from, "agent-id"), "an id");
  mkdirSync(join(from, "agents", "hotels"), { recursive: true });
  writeFileSync(join(from, "agents", "hotels", "lock.db"), "");
  mkdirSync(join(from, "another"));
  writeFileSync(join(from, "another", "lock.db"), "");
  return from;
}

async function expectWhole(to: string): Promise<void> {
  expect(readFileSync(join(to, "agent-id"), "utf8")).toBe("an id");
  expect(existsSync(join(to, "agents", "hotels"))).toBe(true);
  const backend = await openSqliteBackend({ folder: to });
  expect((await backend.tasks.unfinished("", 9)).map(({ taskId }) => taskId)).toEqual([
    "t1",
    "t2",
    "t3",
  ]);
  await backend.close();
}

test.each([
  ["of an earlier version", "thread"],
  ["that is in the commit log", "wait"],
] as const)("data %s is moved below its folder, next to that of other agents", async (_, mode) => {
  const from = await anEarlierFolder(mode);
  const to = join(from, "greeter");

  expect(moveDataFolder({ from, to, isOwner: isGreeter })).toBe(true);

  await expectWhole(to);
  expect(readdirSync(from).toSorted()).toEqual(["another", "greeter", "lock.db"]);
  expect(moveDataFolder({ from, to, isOwner: isGreeter })).toBe(false);
});

test("a move that a crash interrupted is completed by the next one", async () => {
  const from = await anEarlierFolder();
  const to = join(from, "greeter");
  mkdirSync(to);
  renameSync(join(from, "agents"), join(to, "agents"));

  expect(moveDataFolder({ from, to, isOwner: isGreeter })).toBe(true);

  await expectWhole(to);
});

test("the data of another agent is not moved", async () => {
  const from = await anEarlierFolder();
  const to = join(from, "poet");

  expect(moveDataFolder({ from, to, isOwner: (agent) => agent === "poet" })).toBe(false);

  expect(existsSync(to)).toBe(false);
  await expectWhole(from);
});

test("data that a running server uses is not moved, and only its own agent is rejected", async () => {
  const from = temporaryFolder();
  const child = await startChild(from, ["write", "power", "thread"]);
  await expect.poll(() => child.lines().length).toBeGreaterThan(3);
  const move = (agent: string): boolean =>
    moveDataFolder({ from, to: join(from, agent), isOwner: (name) => name === agent });

  expect(move("poet")).toBe(false);
  expect(() => move("greeter")).toThrow(DataFolderBusyError);

  const before = child.lines().length;
  await expect.poll(() => child.lines().length).toBeGreaterThan(before);
});
