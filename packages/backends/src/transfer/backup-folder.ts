import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { DataFolderError, type HeldFolder, holdFolder } from "../sqlite/data-folder.ts";
import { readFolderMark, whyFolderMarked, writeFolderMark } from "../sqlite/marked-folder.ts";
import { checkBackupFile, readBackupFile } from "./backup-file.ts";
import { copyFolder, storesIn, syncPath } from "./copy-folder.ts";
import { type CopyOptions, TransferError } from "./transfer-error.ts";

export interface BackupOptions extends CopyOptions {
  /** A data folder. A server may use it meanwhile. */
  readonly from: string;
  /** The folder to create. The one above it must exist. */
  readonly to: string;
}

/**
 * Copies a data folder into a new one, together with those of sub-agents: everything that was
 * acknowledged before it began, and all files of these tasks. The copy has its name only once it is
 * complete and on the disk. It is a data folder, too.
 *
 * @example
 * await backupFolder({ from: ".convoke/my-agent", to: "/backup/monday" });
 */
export async function backupFolder(options: BackupOptions): Promise<{ readonly tasks: number }> {
  const [from, to] = [resolve(options.from), resolve(options.to)];
  storesIn(from);
  if (existsSync(to)) throw new TransferError(`${to} exists already: name a new folder.`);
  if (to.startsWith(from + sep)) {
    throw new TransferError(`${to} is in the folder that is copied: name one outside of it.`);
  }
  if (!existsSync(dirname(to))) {
    throw new TransferError(
      `There is no folder ${dirname(to)}: is its disk there? Create it first.`,
    );
  }
  const draft = `${to}.${randomUUID()}.part`;
  try {
    mkdirSync(draft, { mode: 0o700 });
    writeFolderMark(draft, { id: "backup", role: "target", peer: from, isDone: false });
    const tasks = await copyFolder(from, draft, options);
    // A folder that was moved away says so in its backup, too: its tasks are elsewhere.
    writeFolderMark(draft, readFolderMark(from));
    renameSync(draft, to);
    await syncPath(dirname(to));
    return { tasks };
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw TransferError.explain(error, `${from} could not be copied to ${to}`);
  }
}

export interface RestoreOptions extends CopyOptions {
  /** A backup: a folder, or a file of an earlier version. */
  readonly from: string;
  /** A folder that is empty or does not exist. */
  readonly to: string;
}

interface Restored {
  readonly tasks: number;
  /** How many records of what were left out, because this version has no place for them. */
  readonly leftOut: ReadonlyMap<string, number>;
}

/** The mark of a folder that is being restored, also by earlier versions. */
const RESTORE = "restore";

/** Where the copy is until it is complete. */
const STAGE = "restore.part";

/** What may be in an empty folder: from the file system, from a lock, or from an attempt that was cut off. */
const NOTHING = /^(?:lost\+found|lock\.db|holder\.json|restore\.part|transfer\.json)$/;

/** What attempts of earlier versions have left. */
const INCOMING = /^(?:tasks\.db|files)\.incoming/;

/**
 * Copies a backup into an empty folder: everything, or nothing. If it is killed, servers refuse the
 * folder until it is called again.
 */
export async function restoreFolder(options: RestoreOptions): Promise<Restored> {
  const [from, to] = [resolve(options.from), resolve(options.to)];
  const isFile = statSync(from, { throwIfNoEntry: false })?.isFile();
  if (isFile === undefined) throw new TransferError(`There is no backup ${from}.`);
  if (isFile) await checkBackupFile(from);
  else storesIn(from);
  checkEmpty(to);
  const isNew = !existsSync(to);
  let held: HeldFolder | undefined;
  try {
    if (isNew) createFolder(to);
    held = holdFolder(to);
    return await fillEmpty(to, { ...options, from, isFile });
  } catch (error) {
    if (isNew) rmSync(to, { recursive: true, force: true });
    throw TransferError.explain(error, `${from} could not be restored to ${to}`);
  } finally {
    held?.release();
  }
}

interface Filling extends CopyOptions {
  readonly from: string;
  readonly isFile: boolean;
}

/** The folder must be locked. Its mark stays as long as it has a part of a backup. */
async function fillEmpty(to: string, { from, isFile, ...options }: Filling): Promise<Restored> {
  const stage = join(to, STAGE);
  try {
    writeFolderMark(to, { id: RESTORE, role: "target", peer: basename(from), isDone: false });
    rmSync(stage, { recursive: true, force: true });
    const restored = isFile
      ? await readBackupFile(from, stage, options)
      : { tasks: await copyFolder(from, stage, options), leftOut: new Map<string, number>() };
    for (const name of readdirSync(to).filter((one) => INCOMING.test(one))) {
      rmSync(join(to, name), { recursive: true });
    }
    for (const name of readdirSync(stage)) {
      rmSync(join(to, name), { recursive: true, force: true });
      renameSync(join(stage, name), join(to, name));
    }
    await syncPath(to);
    writeFolderMark(to, isFile ? undefined : readFolderMark(from));
    return restored;
  } catch (error) {
    if (isEmpty(to)) writeFolderMark(to, undefined);
    throw error;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** The error of a recursive call does not say why it failed. */
function createFolder(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  mkdirSync(folder, { mode: 0o700 });
}

function checkEmpty(folder: string): void {
  if (!existsSync(folder)) return;
  const mark = readFolderMark(folder);
  if (mark?.id === RESTORE) return;
  if (mark !== undefined) throw new DataFolderError(folder, whyFolderMarked(mark));
  if (isEmpty(folder)) return;
  throw new TransferError(`${folder} is not empty: name a new or an empty folder.`);
}

function isEmpty(folder: string): boolean {
  return readdirSync(folder).every((name) => NOTHING.test(name));
}
