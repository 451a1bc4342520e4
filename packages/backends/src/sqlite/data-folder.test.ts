import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { DataFolderBusyError, DataFolderError, holdFolder } from "./data-folder.ts";
import { openSqliteBackend } from "./sqlite-backend.ts";
import { startChild } from "./start-child.suite.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

describe("the lock", () => {
  test("a second process immediately gets an error that names the process that holds the folder", async () => {
    const folder = temporaryFolder();
    const child = await startChild(folder, ["hold"]);

    const second = openSqliteBackend({ folder, busyTimeoutMs: 60_000 });

    await expect(second).rejects.toThrow(
      new DataFolderBusyError(folder, { pid: child.pid, port: 4711 }),
    );
    await expect(second).rejects.toThrow(
      `The data folder ${folder} is in use by process ${child.pid} (port 4711).`,
    );
    await child.kill();
  });

  test("is released when its process dies, whatever remains in the folder", async () => {
    const folder = temporaryFolder();
    const child = await startChild(folder, ["hold"]);

    await child.kill();

    expect(existsSync(join(folder, "holder.json"))).toBe(true);
    writeFileSync(join(folder, "holder.json"), JSON.stringify({ pid: process.ppid }));
    const backend = await openSqliteBackend({ folder });
    expect(backend.isAfterCrash).toBe(true);
    await backend.close();
    const next = await openSqliteBackend({ folder });
    expect(next.isAfterCrash).toBe(false);
    await next.close();
  });

  test("prevents the same process from opening a folder twice, until it is closed", async () => {
    const folder = temporaryFolder();
    const first = await openSqliteBackend({ folder });

    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(openSqliteBackend({ folder: `${folder}/.` })).rejects.toThrow(
        `is in use by process ${process.pid}.`,
      );
    }

    await first.close();
    expect(existsSync(join(folder, "holder.json"))).toBe(false);
    await (await openSqliteBackend({ folder })).close();
  });

  test("is not released by a rejected opener", async () => {
    const folder = temporaryFolder();
    const held = holdFolder(folder);
    expect(() => holdFolder(folder)).toThrow(DataFolderBusyError);

    await expect(startChild(folder, ["hold"])).rejects.toThrow(
      `is in use by process ${process.pid}.`,
    );

    held.release();
  });

  test("is attributed to another process if its holder cannot be read", () => {
    const folder = temporaryFolder();
    const held = holdFolder(folder, { port: 1 });
    writeFileSync(join(folder, "holder.json"), "{ half");

    expect(() => holdFolder(folder)).toThrow(
      `The data folder ${folder} is in use by another process.`,
    );

    held.release();
  });
});

describe("the folder", () => {
  test("is created if it is missing, for this user only", async () => {
    const folder = join(temporaryFolder(), "deep", "data");

    const backend = await openSqliteBackend({ folder });

    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "tasks.db")).mode & 0o077).toBe(0);
    expect(statSync(join(folder, "tasks.db-wal")).mode & 0o077).toBe(0);
    await backend.close();
  });

  test("a file in its place is named in one sentence", async () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");

    await expect(openSqliteBackend({ folder: file })).rejects.toThrow(
      `The data folder ${file} cannot be used (ENOTDIR: not a directory); choose another one, for example with CONVOKE_DATA.`,
    );
    await expect(openSqliteBackend({ folder: join(file, "data") })).rejects.toThrow(
      "ENOTDIR: not a directory",
    );
  });

  test("a folder that is not writable is named in one sentence", async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o555);

    const open = asOrdinaryUser(() => openSqliteBackend({ folder }));

    await expect(open).rejects.toThrow(DataFolderError);
    await expect(open).rejects.toThrow(
      `The data folder ${folder} cannot be used (EACCES: permission denied)`,
    );
  });

  test("an invalid database is named, and the folder is released", async () => {
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, "tasks.db"),
      "this is not a database, however long it may be. ".repeat(100),
    );

    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(openSqliteBackend({ folder })).rejects.toThrow(
        `The data folder ${folder} has a damaged database (SQLITE_NOTADB: `,
      );
    }
  });
});

/** Root may write everywhere, so tests that run as root drop the privilege for a moment. */
async function asOrdinaryUser<T>(body: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0 || !isMainThread) return body();
  process.seteuid!(65_534);
  try {
    return await body();
  } finally {
    process.seteuid!(0);
  }
}
