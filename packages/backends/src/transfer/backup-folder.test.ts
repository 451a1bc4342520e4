import { hash, randomBytes } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { Backend } from "@convoke/engine";
import { openSqliteBackend } from "../sqlite/sqlite-backend.ts";
import { startChild } from "../sqlite/start-child.suite.ts";
import { temporaryFolder } from "../sqlite/temporary-folder.suite.ts";
import { fillStore, taskId } from "./a-store.suite.ts";
import { backupFolder, restoreFolder } from "./backup-folder.ts";
import { contentOf } from "./content-of.suite.ts";

const CONTENT = randomBytes(100_000);
const DIGEST = hash("sha256", CONTENT, "hex");

async function putFile(backend: Backend, task: string): Promise<void> {
  const blob = { taskId: task, digest: DIGEST, size: CONTENT.length };
  await backend.blobs!.put(blob, () => [CONTENT]);
}

/** A folder with tasks and those of a sub-agent, one of them with a large file. */
async function aFolder(): Promise<string> {
  const folder = temporaryFolder();
  for (const path of ["", "agents/hotels"]) {
    const backend = await openSqliteBackend({ folder: join(folder, path), durability: "process" });
    await fillStore(backend, 5);
    await putFile(backend, taskId(3));
    // It belongs to no task, so it is not worth a place.
    await putFile(backend, "none");
    await backend.close();
  }
  for (const name of ["agent.json", "agents.json", "api-keys.json", "mcp-child-1.json"]) {
    writeFileSync(join(folder, name), `{"name":"${name}"}`);
  }
  const registry = new DatabaseSync(join(folder, "registry.db"));
  registry.exec(
    "PRAGMA journal_mode = WAL; CREATE TABLE entries (id); INSERT INTO entries VALUES (7)",
  );
  registry.close();
  return folder;
}

async function contentIn(folder: string): Promise<readonly object[]> {
  const backend = await openSqliteBackend({ folder, durability: "process" });
  try {
    return await contentOf(backend);
  } finally {
    await backend.close();
  }
}

function newPlace(): string {
  return join(temporaryFolder(), "copy");
}

test("a backup has every database and file of a folder and of its sub-agents, and is restored as it is", async () => {
  const from = await aFolder();
  const [backup, to] = [newPlace(), newPlace()];

  expect(await backupFolder({ from, to: backup })).toEqual({ tasks: 8 });
  expect(await restoreFolder({ from: backup, to })).toMatchObject({ tasks: 8 });

  const names = ["agent.json", "agents", "agents.json", "api-keys.json", "files"];
  expect(readdirSync(backup).toSorted()).toEqual([...names, "registry.db", "tasks.db"]);
  const registry = new DatabaseSync(join(to, "registry.db"));
  expect(registry.prepare("SELECT id FROM entries").get()).toEqual({ id: 7 });
  registry.close();
  for (const path of ["", "agents/hotels"]) {
    expect(await contentIn(join(to, path))).toEqual(await contentIn(join(from, path)));
    const files = join(to, path, "files");
    expect(readdirSync(files)).toEqual([taskId(3)]);
    expect(readFileSync(join(files, taskId(3), DIGEST)).equals(CONTENT)).toBe(true);
  }
});

test("a backup beside a server has what it has just acknowledged, and one of a killed server what only its log has", async () => {
  const from = temporaryFolder();
  const child = await startChild(from, ["write"]);
  await expect.poll(() => child.lines().length, { timeout: 20_000 }).toBeGreaterThan(20);
  const acknowledged = new Map<string, readonly string[]>();
  const backUp = async (): Promise<void> => {
    const to = newPlace();
    acknowledged.set(to, child.lines());
    await backupFolder({ from, to });
  };

  for (let round = 0; round < 5; round += 1) await backUp();
  await child.kill();
  await backUp();

  for (const [folder, lines] of acknowledged) {
    expect(existsSync(join(folder, "commits.log"))).toBe(false);
    const backend = await openSqliteBackend({ folder });
    const heads = new Map(lines.map((line) => line.split(" ") as [string, string]));
    for (const [id, head] of heads) {
      expect((await backend.tasks.get(id))?.head).toBeGreaterThanOrEqual(Number(head));
    }
    await backend.close();
  }
});

/** Large enough that SQLite copies it in several steps. */
const SEVERAL_STEPS = 20_000_000;

test.each(["deleted", "erased"])(
  "a task that begins and is %s during a backup is not in it without its files",
  async (end) => {
    const from = await aFolder();
    const database = new DatabaseSync(join(from, "tasks.db"));
    database.exec(`CREATE TABLE large AS SELECT zeroblob(${SEVERAL_STEPS}) AS content`);
    const place = join(from, "files", "short");
    const begin = (): void => {
      cpSync(join(from, "files", taskId(3)), place, { recursive: true });
      const { changes } = database
        .prepare(
          `INSERT INTO tasks (task_id, owner, context, agent, epoch, state, status_at, created_at, listed, ended)
           VALUES ('short', 'eve', 'c', 'a', 1, 'completed', ?, 1, 1, 1)`,
        )
        .run(Date.now() + 1);
      expect(changes).toBe(1);
    };
    // An erasure deletes the files first, and everything else deletes the task first.
    const statement =
      end === "deleted"
        ? "DELETE FROM tasks WHERE task_id = 'short'"
        : `INSERT INTO erasures (id, json) VALUES ('e', '{"owner":"eve","startedAt":1}')`;
    const finish = (): void => {
      database.exec(statement);
      rmSync(place, { recursive: true });
    };
    const to = newPlace();
    const steps = [begin, finish];
    const onProgress = (): void => {
      const [draft = ""] = readdirSync(dirname(to));
      const isReading = existsSync(join(dirname(to), draft, "tasks.db"));
      // While the first files are copied, and then while the databases are.
      if (steps.length === 2 || (steps.length === 1 && isReading)) steps.shift()!();
    };

    await backupFolder({ from, to, onProgress });
    database.close();

    const copy = new DatabaseSync(join(to, "tasks.db"));
    const kept = copy.prepare("SELECT 1 FROM tasks WHERE task_id = 'short'").get() !== undefined;
    // The first server that uses the backup finishes the erasure.
    const isErased = copy.prepare("SELECT 1 FROM erasures").get() !== undefined;
    copy.close();
    expect(steps).toEqual([]);
    expect(kept).toBe(isErased);
  },
);

test("a folder that cannot be copied is named with the reason, and nothing is left of the backup", async () => {
  const from = await aFolder();
  const [newer, damaged] = [newPlace(), newPlace()];
  for (const folder of [newer, damaged]) cpSync(from, folder, { recursive: true });
  const database = new DatabaseSync(join(newer, "tasks.db"));
  database.exec("PRAGMA user_version = 999");
  database.close();
  const bytes = readFileSync(join(damaged, "tasks.db"));
  writeFileSync(join(damaged, "tasks.db"), bytes.fill(7, 8192, 40_960));
  const root = temporaryFolder();
  const to = join(root, "backup");

  const failed = (options: { from: string; to: string }): Promise<unknown> =>
    backupFolder(options).then(
      () => undefined,
      (error: Error) => `${error.name}: ${error.message}`,
    );

  expect(await failed({ from: newer, to })).toMatch(
    /^TransferError: .* was written by a newer version .* 999, .*: copy it with that version\.$/,
  );
  expect(await failed({ from: damaged, to })).toContain(
    `DataFolderError: The data folder ${damaged} has a damaged database`,
  );
  expect(await failed({ from: root, to })).toMatch(/^TransferError: There are no tasks in/);
  expect(await failed({ from, to: join(root, "no", "disk") })).toBe(
    `TransferError: There is no folder ${join(root, "no")}: is its disk there? Create it first.`,
  );
  expect(await failed({ from, to: join(from, "copy") })).toContain("name one outside of it.");
  expect(await failed({ from, to: root })).toBe(
    `TransferError: ${root} exists already: name a new folder.`,
  );
  expect(readdirSync(root)).toEqual([]);
});

test("a backup that is not complete is neither served nor restored", async () => {
  const from = await aFolder();
  const root = temporaryFolder();
  const parts: string[] = [];
  const onProgress = (): void => {
    const [part] = readdirSync(root);
    if (parts.length > 0 || !existsSync(join(root, part!, "transfer.json"))) return;
    parts.push(join(root, "cut off"));
    cpSync(join(root, part!), parts[0]!, { recursive: true });
  };
  await backupFolder({ from, to: join(root, "backup"), onProgress });

  const [folder = ""] = parts;
  await expect(openSqliteBackend({ folder })).rejects.toThrow("is not complete");
  const restored = restoreFolder({ from: folder, to: newPlace() });
  await expect(restored).rejects.toThrow("is not complete");
});

test("a backup of a folder whose tasks were moved away is refused by servers like the folder", async () => {
  const from = await aFolder();
  const [backup, to] = [newPlace(), newPlace()];
  const mark = { id: "m", role: "source", peer: "postgres://db/convoke?schema=c", isDone: true };
  writeFileSync(join(from, "transfer.json"), JSON.stringify(mark));

  await backupFolder({ from, to: backup });
  await restoreFolder({ from: backup, to });

  for (const folder of [backup, to]) {
    await expect(openSqliteBackend({ folder })).rejects.toThrow("was moved to postgres://db");
  }
});

test("a restore needs an empty folder, leaves nothing if it fails, and goes on if it was killed", async () => {
  const from = await aFolder();
  const backup = newPlace();
  await backupFolder({ from, to: backup });
  const to = newPlace();
  const signal = AbortSignal.abort(new Error("cut off"));

  await expect(restoreFolder({ from: backup, to: from })).rejects.toThrow("is not empty");
  await expect(restoreFolder({ from: backup, to, signal })).rejects.toThrow("cut off");
  expect(existsSync(to)).toBe(false);

  // What a killed one leaves, in its last moments, and one of an earlier version in the middle.
  const mark = { id: "restore", role: "target", peer: "tasks.backup", isDone: false };
  mkdirSync(join(to, "agents", "hotels"), { recursive: true });
  mkdirSync(join(to, "restore.part", "files"), { recursive: true });
  writeFileSync(join(to, "transfer.json"), JSON.stringify(mark));
  writeFileSync(join(to, "tasks.db.incoming"), "half");
  await expect(openSqliteBackend({ folder: to })).rejects.toThrow(
    "Run that convoke migrate or convoke restore again, or delete the folder.",
  );

  await restoreFolder({ from: backup, to });

  expect(await contentIn(to)).toEqual(await contentIn(from));
  expect(existsSync(join(to, "tasks.db.incoming"))).toBe(false);
  await expect(restoreFolder({ from: backup, to })).rejects.toThrow("is not empty");
});
