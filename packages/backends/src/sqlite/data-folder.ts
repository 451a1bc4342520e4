import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { primaryCode } from "./storage-error.ts";

/** A data folder that nobody else can hold until it is released. */
export interface HeldFolder {
  readonly path: string;
  release(): void;
}

/**
 * Takes the folder for this process or fails at once.
 *
 * The lock is an exclusive transaction on a database of its own, kept open for
 * the whole life of the backend: an operating-system lock, so it ends with the
 * process however that ends, and no file that stays behind can lock anyone out.
 * `holder.json` only names the holder in the error of whoever comes second.
 *
 * Never open `lock.db` by other means in a process that holds it: POSIX drops a
 * process's locks on a file as soon as any of its descriptors is closed.
 */
export function holdFolder(folder: string, facts: HolderFacts = {}): HeldFolder {
  const path = resolve(folder);
  prepare(path);
  const lock = takeLock(path);
  try {
    writeHolder(path, facts);
  } catch (error) {
    lock.close();
    throw DataFolderError.unusable(path, error);
  }
  return {
    path,
    release() {
      removeHolder(path);
      lock.close();
    },
  };
}

/** Makes the folder and proves that files can be written in it, for SQLite does not say why it could not. */
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
    // No journal on disk: nothing is ever written, so there is nothing to recover after a crash.
    lock.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock?.close();
    if (primaryCode(error) === "SQLITE_BUSY") throw new DataFolderBusyError(path, readHolder(path));
    throw DataFolderError.unusable(path, error);
  }
}

function holderFile(path: string): string {
  return join(path, "holder.json");
}

/** Renamed into place, so that a reader never sees half of it. */
function writeHolder(path: string, facts: HolderFacts): void {
  const draft = `${holderFile(path)}.new`;
  writeFileSync(draft, JSON.stringify({ pid: process.pid, ...facts }), { mode: 0o600 });
  renameSync(draft, holderFile(path));
}

/** A holder file that stays is harmless: only the lock counts. */
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

/** Facts about a process that show a person which one it is. */
export type HolderFacts = Readonly<Record<string, string | number>>;

/** The data folder cannot be used. The message is one sentence for the person who set it. */
export class DataFolderError extends Error {
  override readonly name: string = "DataFolderError";
  readonly folder: string;

  constructor(folder: string, reason: string, options?: ErrorOptions) {
    super(`The data folder ${folder} ${reason}`, options);
    this.folder = folder;
  }

  /** Says which system call failed and why, in the words of the system. */
  static unusable(folder: string, cause: unknown): DataFolderError {
    return new DataFolderError(
      folder,
      `cannot be used (${causeOf(cause)}); choose another one, for example with CONVOKE_DATA.`,
      { cause },
    );
  }
}

/** Another process, or another backend in this one, holds the folder. */
export class DataFolderBusyError extends DataFolderError {
  override readonly name = "DataFolderBusyError";
  /** What the holder told about itself, when it could be read. */
  readonly holder: HolderFacts | undefined;

  constructor(folder: string, holder: HolderFacts | undefined) {
    super(folder, `is in use by ${describe(holder)}.`);
    this.holder = holder;
  }
}

function describe(holder: HolderFacts | undefined): string {
  const { pid, ...facts } = holder ?? {};
  if (pid === undefined) return "another process";
  const told = Object.entries(facts).map(([name, value]) => `${name} ${value}`);
  return told.length === 0 ? `process ${pid}` : `process ${pid} (${told.join(", ")})`;
}

/** `EACCES: permission denied`, without the system call and the path that Node appends. */
function causeOf(cause: unknown): string {
  const { code, message } =
    cause instanceof Error
      ? (cause as NodeJS.ErrnoException)
      : { code: undefined, message: String(cause) };
  if (code === "EEXIST") return "ENOTDIR: not a directory";
  return code !== undefined && message.startsWith(code) ? (message.split(",")[0] ?? code) : message;
}
