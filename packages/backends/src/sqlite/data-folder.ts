import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { COMMIT_LOG } from "./commit-log.ts";
import { isDamage, primaryCode } from "./storage-error.ts";

/** Where a data folder has the large files of its tasks. */
export const FILES_FOLDER = "files";

/** A locked data folder. */
export interface HeldFolder {
  readonly path: string;
  /** Whether the process that held it before ended without releasing it. */
  readonly wasLeft: boolean;
  /** Why the folder is not held any more although it was not released; `undefined` if it is. */
  lost(): DataFolderError | undefined;
  release(): void;
}

/**
 * Locks the folder for this process, or throws.
 *
 * The lock is an exclusive transaction on a separate database that stays open as
 * long as the backend. It is a lock of the operating system, so it ends with the
 * process in any case, and a leftover file cannot lock anyone out. `holder.json`
 * is used only for the error message of a second process.
 *
 * Never open `lock.db` in another way in the process that holds it: POSIX releases
 * all locks of a process on a file when any of its descriptors is closed.
 */
export function holdFolder(folder: string, facts: HolderFacts = {}): HeldFolder {
  const path = resolve(folder);
  prepare(path);
  const lock = takeLock(path);
  const wasLeft = existsSync(holderFile(path));
  try {
    writeHolder(path, facts);
  } catch (error) {
    lock.close();
    throw DataFolderError.unusable(path, error);
  }
  return {
    path,
    wasLeft,
    lost: watchFiles(path),
    release() {
      removeHolder(path);
      lock.close();
    },
  };
}

/** Creates the folder and checks that it is writable, because errors of SQLite do not say why it is not. */
function prepare(path: string): void {
  const probe = join(path, `probe-${randomUUID()}`);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    writeFileSync(probe, "probe", { mode: 0o600 });
    rmSync(probe);
  } catch (error) {
    throw DataFolderError.unusable(path, error);
  }
}

function takeLock(path: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(path, "lock.db"), { timeout: 0 });
    // No journal on disk: nothing is written, so there is nothing to recover after a crash.
    lock.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock?.close();
    if (primaryCode(error) === "SQLITE_BUSY") throw new DataFolderBusyError(path, readHolder(path));
    throw DataFolderError.unusable(path, error);
  }
}

const WATCHED = ["lock.db", "tasks.db", COMMIT_LOG];

/**
 * Writes to a deleted or replaced file succeed but are lost, and a lock on a deleted file keeps no
 * other process out.
 */
function watchFiles(path: string): () => DataFolderError | undefined {
  const known = new Map<string, number>();
  return () => {
    for (const name of WATCHED) {
      const inode = statSync(join(path, name), { throwIfNoEntry: false })?.ino;
      const before = known.get(name) ?? inode;
      if (inode === undefined || inode !== before) {
        const what = inode === undefined ? "deleted" : "replaced";
        return new DataFolderError(
          path,
          `cannot be used any more: its ${name} was ${what} while a server used it.`,
        );
      }
      known.set(name, inode);
    }
    return undefined;
  };
}

function holderFile(path: string): string {
  return join(path, "holder.json");
}

/** Written and renamed, so that a reader never sees an incomplete file. */
function writeHolder(path: string, facts: HolderFacts): void {
  const draft = `${holderFile(path)}.new`;
  writeFileSync(draft, JSON.stringify({ pid: process.pid, ...facts }), { mode: 0o600 });
  renameSync(draft, holderFile(path));
}

/** A leftover file is harmless: only the lock counts. */
function removeHolder(path: string): void {
  try {
    rmSync(holderFile(path), { force: true });
  } catch {}
}

function readHolder(path: string): HolderFacts | undefined {
  try {
    const facts: unknown = JSON.parse(readFileSync(holderFile(path), "utf8"));
    if (typeof facts !== "object" || facts === null) return undefined;
    return Object.fromEntries(
      Object.entries(facts).filter(
        ([, value]) => typeof value === "string" || typeof value === "number",
      ),
    );
  } catch {
    return undefined;
  }
}

/** Facts that help people to identify a process. */
export type HolderFacts = Readonly<Record<string, string | number>>;

/** The data folder cannot be used. The message is a sentence for the person who has configured it. */
export class DataFolderError extends Error {
  override readonly name: string = "DataFolderError";
  /** The error persists until someone changes the folder. */
  readonly isPermanent = true;
  readonly folder: string;

  constructor(folder: string, reason: string, options?: ErrorOptions) {
    super(`The data folder ${folder} ${reason}`, options);
    this.folder = folder;
  }

  /** For a database that SQLite cannot read. */
  static damaged(folder: string, cause: unknown): DataFolderError {
    return new DataFolderError(
      folder,
      `has a damaged database (${describeCause(cause)}): stop the server, and restore tasks.db from a backup, or repair it with "sqlite3 tasks.db .recover | sqlite3 repaired.db".`,
      { cause },
    );
  }

  /** For an error of the operating system or of SQLite. */
  static unusable(folder: string, cause: unknown): DataFolderError {
    if (cause instanceof DataFolderError) return cause;
    if (isDamage(primaryCode(cause))) return DataFolderError.damaged(folder, cause);
    return new DataFolderError(
      folder,
      `cannot be used (${describeCause(cause)}); choose another one, for example with CONVOKE_DATA.`,
      { cause },
    );
  }
}

/** Another process, or another backend in this one, holds the folder. */
export class DataFolderBusyError extends DataFolderError {
  override readonly name = "DataFolderBusyError";
  /** Facts about the holder, if they could be read. */
  readonly holder: HolderFacts | undefined;

  constructor(folder: string, holder: HolderFacts | undefined) {
    super(folder, `is in use by ${describe(holder)}.`);
    this.holder = holder;
  }
}

function describe(holder: HolderFacts | undefined): string {
  const { pid, ...facts } = holder ?? {};
  if (pid === undefined) return "another process";
  const listed = Object.entries(facts).map(([name, value]) => `${name} ${value}`);
  return listed.length === 0 ? `process ${pid}` : `process ${pid} (${listed.join(", ")})`;
}

/** Such as `EACCES: permission denied`, without the system call and path that Node appends. */
export function describeCause(cause: unknown): string {
  const { code, message } =
    cause instanceof Error
      ? (cause as NodeJS.ErrnoException)
      : { code: undefined, message: String(cause) };
  const sqlite = primaryCode(cause);
  if (sqlite !== undefined) return `${sqlite}: ${message}`;
  if (code === "EEXIST") return "ENOTDIR: not a directory";
  return code !== undefined && message.startsWith(code) ? (message.split(",")[0] ?? code) : message;
}
