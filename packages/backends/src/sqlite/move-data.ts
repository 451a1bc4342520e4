import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { COMMIT_LOG } from "./commit-log.ts";
import {
  DataFolderBusyError,
  DataFolderError,
  type HeldFolder,
  holdFolder,
} from "./data-folder.ts";
import { applyCommitLog } from "./sqlite-backend.ts";

const DATABASE = "tasks.db";

/** Belong to the lock or to SQLite and not to the data. */
const STAYS = /^(?:lock\.db|holder\.json(?:\.new)?|probe-.*|tasks\.db.*)$/;

export interface MoveOptions {
  /** The folder that has the data itself, and may have the folders of other agents below it. */
  readonly from: string;
  /** Where the data belongs: a folder below `from`. */
  readonly to: string;
  /** Whether the data is to be moved, by the name of the agent that used it last. */
  readonly isOwner: (agent: string) => boolean;
}

/**
 * Moves data from a folder into a folder below it, for versions that kept the tasks of an agent
 * directly in `.convoke`. Returns false, and moves nothing, if there is no data, if it is another
 * agent's, or if the new place has data already. Throws a `DataFolderBusyError` if a running server
 * uses the data.
 *
 * The database is moved last and in one step: if the process ends before, the next call completes
 * the move, and nothing can have opened the database in its new place.
 */
export function moveDataFolder({ from, to, isOwner }: MoveOptions): boolean {
  const source = resolve(from);
  const file = join(source, DATABASE);
  if (!existsSync(file) || existsSync(join(to, DATABASE))) return false;
  let held: HeldFolder;
  try {
    held = holdFolder(source);
  } catch (error) {
    // The server of another agent, of a version before the move, may go on.
    if (error instanceof DataFolderBusyError && !isOwner(lastAgent(source, true) ?? ""))
      return false;
    throw error;
  }
  try {
    if (!existsSync(file)) return false;
    if (existsSync(join(source, COMMIT_LOG))) applyCommitLog(source);
    const agent = lastAgent(source, false);
    if (agent !== undefined && !isOwner(agent)) return false;
    moveEntries(source, to);
    return true;
  } finally {
    held.release();
  }
}

function moveEntries(source: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  const target = resolve(to);
  for (const name of readdirSync(source)) {
    const path = join(source, name);
    if (STAYS.test(name) || path === target || isDataFolder(path)) continue;
    if (!existsSync(join(target, name))) renameSync(path, join(target, name));
  }
  renameSync(join(source, DATABASE), join(target, DATABASE));
}

/** Whether it is the data folder of another agent. */
function isDataFolder(path: string): boolean {
  return existsSync(join(path, "lock.db"));
}

/**
 * The name of the agent that used the data last; `undefined` if there are no tasks. Earlier versions
 * ended the unfinished tasks of every other agent, so those that are left have the same one.
 *
 * If it is not in use, the write-ahead log is moved into the database, which is then one file.
 */
function lastAgent(folder: string, isInUse: boolean): string | undefined {
  const file = join(folder, DATABASE);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: isInUse, timeout: 5_000 });
    if (!isInUse) db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const tables = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'tasks'").get();
    const row =
      tables === undefined
        ? undefined
        : db.prepare("SELECT agent FROM tasks ORDER BY ended, created_at DESC LIMIT 1").get();
    db.close();
    const log = `${file}-wal`;
    if (!isInUse && existsSync(log) && statSync(log).size > 0) {
      throw new Error("another program has its database open");
    }
    return row?.["agent"] as string | undefined;
  } catch (error) {
    if (db?.isOpen === true) db.close();
    throw DataFolderError.unusable(folder, error);
  }
}
