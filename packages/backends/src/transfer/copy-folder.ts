import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import {
  copyFile,
  mkdir,
  open,
  readFile,
  readdir,
  readlink,
  rename,
  stat,
  symlink,
} from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync, backup } from "node:sqlite";
import { taskOfName } from "../files/blob-names.ts";
import { COMMIT_LOG } from "../sqlite/commit-log.ts";
import { DataFolderError, FILES_FOLDER } from "../sqlite/data-folder.ts";
import { readFolderMark, whyFolderMarked } from "../sqlite/marked-folder.ts";
import { MIGRATIONS, schemaVersion } from "../sqlite/schema.ts";
import { applyCommitLog } from "../sqlite/sqlite-backend.ts";
import { isDamage, primaryCode } from "../sqlite/storage-error.ts";
import { type CopyOptions, TransferError } from "./transfer-error.ts";

const TASKS = "tasks.db";

/** A database of a folder. That of the lock must not be opened, and has nothing. */
const DATABASE = /^(?!lock\.db$).+\.db$/;

/**
 * What the folder of an agent has that is not copied as a file: what belongs to a process on this machine,
 * what is not complete, and the databases, which SQLite copies.
 */
const NOT_COPIED =
  /^(?:.+\.db(?:-wal|-shm|-journal)?|tasks\.db\.incoming.*|.+\.part|commits\.log|transfer\.json.*|holder\.json.*|probe-.*|(?:mcp|program)-child-.*)$/;

/** How often a copy begins again because tasks were deleted meanwhile. */
const ATTEMPTS = 5;

/** Pages that SQLite copies before it reports how far it is. */
const PAGES = 2000;

/**
 * Copies a data folder into a new one, also while a server uses it and writes. The copy has every
 * event that was acknowledged before this began, and every file that its databases name.
 *
 * A server deletes the files of a task after it has deleted the task, except that an erasure begins
 * with the files. So files are copied before the databases and again after them, and a task that is
 * gone afterwards has lost none of its files if it had ended before the first time. If there is
 * another one, all is done again.
 *
 * @returns the number of tasks
 */
export async function copyFolder(
  from: string,
  to: string,
  options: CopyOptions = {},
): Promise<number> {
  storesIn(from);
  const report = reporter(options);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const begun = Date.now();
    const paths = [...agentFolders(from, "")];
    const copy = { paths, folders: new Set(paths.map((path) => join(from, path))), report };
    for (const path of paths) {
      await copyTree(join(from, path, FILES_FOLDER), join(to, path, FILES_FOLDER), copy);
    }
    await copyDatabases(from, to, copy);
    await copyTree(from, to, copy);
    const isSame = [...agentFolders(from, "")].length === paths.length;
    if (isSame && hasAllFiles(from, to, { paths, begun })) {
      return paths.reduce((tasks, path) => tasks + finishStore(join(to, path)), 0);
    }
  }
  throw new TransferError(
    `Tasks in ${from} are deleted faster than their files can be copied: try again later.`,
  );
}

/** The folders that have tasks, relative to the first one, which comes first. Refuses one that is not complete. */
export function storesIn(root: string): readonly string[] {
  const paths = [...agentFolders(root, "")].filter((path) => {
    const folder = join(root, path);
    const mark = readFolderMark(folder);
    if (mark?.role === "target") throw new TransferError(`${folder} ${whyFolderMarked(mark)}`);
    return existsSync(join(folder, TASKS));
  });
  if (paths[0] === "") return paths;
  throw new TransferError(`There are no tasks in ${root}: name the folder that has ${TASKS}.`);
}

/** The folder itself, and those of its sub-agents, whether or not they have tasks. */
function* agentFolders(root: string, path: string): Generator<string> {
  yield path;
  const agents = join(root, path, "agents");
  if (!existsSync(agents)) return;
  for (const entry of readdirSync(agents, { withFileTypes: true })) {
    if (entry.isDirectory()) yield* agentFolders(root, join(path, "agents", entry.name));
  }
}

/** Called for each part that was copied. Throws if the copy is to stop. */
type Report = (bytes: number) => void;

function reporter({ onProgress, signal }: CopyOptions): Report {
  let copied = 0;
  return (bytes) => {
    signal?.throwIfAborted();
    copied += bytes;
    onProgress?.(`${Math.round(copied / 1_000_000)} MB`);
  };
}

interface TreeCopy {
  /** The folders of agents, relative to the first one. */
  readonly paths: readonly string[];
  /** The same folders, of which not everything is copied as a file. */
  readonly folders: ReadonlySet<string>;
  readonly report: Report;
}

interface Snapshot {
  readonly database: DatabaseSync;
  readonly file: string;
}

/**
 * All databases are read as they were at one moment each, those of a parent first: what it says about
 * tasks of a sub-agent is then in the database of that one.
 *
 * What a server has committed is in its commit log or in its database. The log is read first, because
 * the server moves commits from the log to the database: what is missing in the log that was read is
 * in the database that is read after it.
 */
async function copyDatabases(from: string, to: string, { paths, report }: TreeCopy): Promise<void> {
  const snapshots: Snapshot[] = [];
  try {
    for (const path of paths) {
      const [source, copy] = [join(from, path), join(to, path)];
      await mkdir(copy, { recursive: true, mode: 0o700 });
      // A server that stops removes it, once the database has everything.
      const log = await readFile(join(source, COMMIT_LOG)).catch(orGone);
      if (log !== undefined) writeFileSync(join(copy, COMMIT_LOG), log, PRIVATE);
      for (const name of readdirSync(source).filter((one) => DATABASE.test(one))) {
        snapshots.push({ database: openSnapshot(source, name), file: join(copy, name) });
      }
    }
    for (const { database, file } of snapshots) await copyDatabase(database, file, report);
  } finally {
    for (const { database } of snapshots) database.close();
  }
  for (const path of paths) completeTasks(join(from, path), join(to, path));
}

const PRIVATE = { mode: 0o600 };

/** Until it is closed, the connection sees the database as it is now. */
function openSnapshot(folder: string, name: string): DatabaseSync {
  const database = new DatabaseSync(join(folder, name), { readOnly: true, timeout: 5000 });
  try {
    database.exec("BEGIN; SELECT count(*) FROM sqlite_schema");
    const version = schemaVersion(database);
    if (name !== TASKS || version <= MIGRATIONS.length) return database;
    throw new TransferError(
      `${folder} was written by a newer version of Convoke (its schema has version ${version}, and this one knows ${MIGRATIONS.length}): copy it with that version.`,
    );
  } catch (error) {
    database.close();
    throw isDamage(primaryCode(error)) ? DataFolderError.damaged(folder, error) : error;
  }
}

async function copyDatabase(database: DatabaseSync, file: string, report: Report): Promise<void> {
  rmSync(file, { force: true });
  writeFileSync(file, "", PRIVATE);
  const { page_size: pageSize } = database.prepare("PRAGMA page_size").get()!;
  let left: number | undefined;
  await backup(database, file, {
    rate: PAGES,
    progress({ totalPages, remainingPages }) {
      report(((left ?? totalPages) - remainingPages) * Number(pageSize));
      left = remainingPages;
    },
  });
  withDatabase(file, (copy) => copy.exec(ONE_FILE));
}

/** Without a write-ahead log it can be read anywhere, also where nothing can be written. */
const ONE_FILE = "PRAGMA journal_mode = DELETE";

/** Puts what the log has into the copy. */
function completeTasks(source: string, copy: string): void {
  const file = join(copy, TASKS);
  if (!existsSync(file)) return;
  try {
    applyCommitLog(copy);
    withDatabase(file, (database) => {
      const problem = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
      if (problem !== "ok") throw DataFolderError.damaged(source, problem);
      database.exec(ONE_FILE);
    });
  } catch (error) {
    // The copy is damaged because its source is.
    const cause = error instanceof DataFolderError && error.folder === copy ? error.cause : error;
    throw isDamage(primaryCode(cause)) ? DataFolderError.damaged(source, cause) : cause;
  }
}

function withDatabase<T>(file: string, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file, { timeout: 5000 });
  try {
    return use(database);
  } finally {
    database.close();
  }
}

/** Copies what is not there yet. What is deleted meanwhile is left out. */
export async function copyTree(
  from: string,
  to: string,
  tree: Pick<TreeCopy, "folders" | "report">,
): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch(orGone);
  if (entries === undefined) return;
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const entry of entries) {
    const { name } = entry;
    if (name.endsWith(".part") || (tree.folders.has(from) && NOT_COPIED.test(name))) continue;
    const [source, copy] = [join(from, name), join(to, name)];
    // A link to the folder with the files is one to another disk. All others are copied as they are.
    if (entry.isDirectory() || name === FILES_FOLDER) {
      await copyTree(source, copy, tree);
    } else if (entry.isFile()) tree.report((await copyNew(source, copy).catch(orGone)) ?? 0);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), copy).catch(orThere);
  }
  await syncPath(to);
}

/** Returns how many bytes were copied. */
async function copyNew(source: string, copy: string): Promise<number> {
  const [{ size, mtimeMs }, there] = [await stat(source), await stat(copy).catch(orGone)];
  if (there?.size === size && there.mtimeMs > mtimeMs) return 0;
  const draft = `${copy}.part`;
  await copyFile(source, draft);
  await syncPath(draft);
  await rename(draft, copy);
  return size;
}

/** Makes the content of a file, or the names in a folder, durable. Windows can do so only while it writes. */
export async function syncPath(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function orGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

function orThere(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

/** Tasks of the copy that had not ended before a time, and are gone or being erased now. */
const IN_DOUBT = `SELECT 1 FROM copy.tasks t WHERE NOT (t.ended = 1 AND t.status_at < ?1)
  AND (NOT EXISTS (SELECT 1 FROM main.tasks l WHERE l.task_id = t.task_id)
    OR t.owner IN (SELECT value FROM json_each(?2))) LIMIT 1`;

/** What is being erased in the copy will be erased by the first server that uses it. */
const ERASED_SINCE = `SELECT json ->> 'owner' AS owner FROM main.erasures
  WHERE json ->> 'owner' IS NOT NULL AND id NOT IN (SELECT id FROM copy.erasures)`;

/** Whether no task of the copy can have lost files that were not copied yet. */
function hasAllFiles(
  from: string,
  to: string,
  { paths, begun }: { readonly paths: readonly string[]; readonly begun: number },
): boolean {
  if (paths.every((path) => isEmpty(join(from, path, FILES_FOLDER)))) return true;
  const databases = paths
    .filter((path) => existsSync(join(to, path, TASKS)))
    .map((path) => {
      const live = new DatabaseSync(join(from, path, TASKS), { readOnly: true, timeout: 5000 });
      live.prepare("ATTACH ? AS copy").run(join(to, path, TASKS));
      return live;
    });
  try {
    const owners = databases.flatMap((one) => one.prepare(ERASED_SINCE).all());
    const erased = JSON.stringify(owners.map(({ owner }) => owner));
    return databases.every((one) => one.prepare(IN_DOUBT).get(begun, erased) === undefined);
  } finally {
    for (const one of databases) one.close();
  }
}

function isEmpty(folder: string): boolean {
  return !existsSync(folder) || readdirSync(folder).length === 0;
}

/** Removes files of tasks that the copy has not. Returns how many tasks it has. */
function finishStore(folder: string): number {
  const file = join(folder, TASKS);
  if (!existsSync(file)) return 0;
  return withDatabase(file, (database) => {
    const find = database.prepare("SELECT 1 FROM tasks WHERE task_id = ?");
    const files = join(folder, FILES_FOLDER);
    for (const name of existsSync(files) ? readdirSync(files) : []) {
      if (find.get(taskOfName(name) ?? "") !== undefined) continue;
      rmSync(join(files, name), { recursive: true });
    }
    return Number(database.prepare("SELECT count(*) AS tasks FROM tasks").get()?.["tasks"]);
  });
}
