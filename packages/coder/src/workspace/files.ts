import { randomBytes } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rmdir,
  symlink,
  unlink,
} from "node:fs/promises";
import { basename, dirname } from "node:path";
import { Folder, FolderMovedError, withFolder } from "./folder.ts";
import type { Place } from "./workspace.ts";
import { WorkspaceError, describeFailure, errorCode } from "./workspace-error.ts";

/** A link is an error, and a pipe does not block. */
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const CREATE_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

/** The mode of a new file, before the umask. */
const NEW_FILE = 0o644;

const PERMISSIONS = 0o7777n;

/** What is at a place; a link is not followed. */
export type Entry =
  | { readonly type: "file"; readonly mode: number; readonly stats: BigIntStats }
  | { readonly type: "folder"; readonly mode: number }
  | { readonly type: "link"; readonly target: string }
  | { readonly type: "missing" }
  /** A device, a pipe or a socket. */
  | { readonly type: "other" };

export function entryAt(place: Place): Promise<Entry> {
  return inParent(place, entryIn).catch(orMissing);
}

/** The content of a regular file. */
export interface FileContent {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** Reads a whole file. A file of more than `maxBytes` is an error that says so. */
export function readContent(place: Place, maxBytes: number): Promise<FileContent> {
  return inParent(place, (folder, name) => readIn(folder, name, { shown: place.shown, maxBytes }));
}

/**
 * Replaces or creates a file, with the folders above it. The new content is written beside it and
 * renamed, so that a crash leaves the old or the new file. The mode and owner of an existing file
 * are kept.
 */
export async function writeContent(place: Place, bytes: Buffer, mode?: number): Promise<void> {
  await ensureParents(place);
  await inParent(place, async (folder, name) => {
    const old = await entryIn(folder, name);
    if (old.type === "folder") throw new WorkspaceError(`${place.shown} is a folder`);
    await replaceIn(folder, name, async (temporary) => {
      const handle = await open(temporary, CREATE_FILE, mode ?? NEW_FILE);
      try {
        await handle.writeFile(bytes);
        await takeOver(handle, old, mode);
        await handle.sync();
      } finally {
        await handle.close();
      }
    });
    await folder.recheck();
  });
}

/** Replaces or creates a link. */
export async function writeLink(place: Place, target: string): Promise<void> {
  await ensureParents(place);
  await inParent(place, (folder, name) =>
    replaceIn(folder, name, (temporary) => symlink(target, temporary)),
  );
}

/** Creates a folder with those above it. Existing ones are left as they are. */
export async function makeFolder(place: Place): Promise<void> {
  await ensureParents(place);
  await inParent(place, async (folder, name) => {
    await mkdir(folder.at(name)).catch(unlessExists);
  });
}

/** Deletes a file or a link. */
export function removeFile(place: Place): Promise<void> {
  return inParent(place, (folder, name) => unlink(folder.at(name)));
}

/** Deletes an empty folder. */
export function removeFolder(place: Place): Promise<void> {
  return inParent(place, (folder, name) => rmdir(folder.at(name)));
}

/** Deletes a folder with everything in it. Links are deleted, not followed. */
export function removeTree(place: Place): Promise<void> {
  return inParent(place, removeTreeIn);
}

/** Moves a file, a link or a folder to a place where nothing is. */
export async function moveEntry(from: Place, to: Place): Promise<void> {
  await ensureParents(to);
  await inParent(to, async (target, newName) => {
    if ((await entryIn(target, newName)).type !== "missing") {
      throw new WorkspaceError(`${to.shown} exists already`);
    }
    await inParent(from, (source, name) => rename(source.at(name), target.at(newName)));
    await target.recheck();
  });
}

export interface FolderContent {
  /** The first entries, sorted by name. */
  readonly entries: readonly { readonly name: string; readonly entry: Entry }[];
  /** How many there are in all. */
  readonly total: number;
}

/** What is in a folder. Of at most `limit` entries it is found out what they are. */
export async function entriesIn(place: Place, limit: number): Promise<FolderContent> {
  try {
    return await withFolder(Folder.open(place.path), async (folder) => {
      const names = (await readdir(folder.base)).toSorted();
      const entries = names.slice(0, limit).map(async (name) => ({
        name,
        entry: await entryIn(folder, name).catch(() => ({ type: "other" }) as const),
      }));
      return { entries: await Promise.all(entries), total: names.length };
    });
  } catch (error) {
    throw describeFailure(error, place.shown);
  }
}

/** Creates the missing folders above a place, each inside the one that was opened before it. */
async function ensureParents(place: Place): Promise<void> {
  const missing: string[] = [];
  let existing = dirname(place.path);
  try {
    let folder = await openDeepest();
    try {
      for (const name of missing) {
        await mkdir(folder.at(name)).catch(unlessExists);
        const next = await folder.child(name);
        await folder.close();
        folder = next;
      }
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw describeFailure(error, place.shown);
  }

  async function openDeepest(): Promise<Folder> {
    for (;;) {
      try {
        return await Folder.open(existing);
      } catch (error) {
        if (errorCode(error) !== "ENOENT" || dirname(existing) === existing) throw error;
        missing.unshift(basename(existing));
        existing = dirname(existing);
      }
    }
  }
}

async function inParent<T>(
  place: Place,
  work: (folder: Folder, name: string) => Promise<T>,
): Promise<T> {
  try {
    return await withFolder(Folder.open(dirname(place.path)), (folder) =>
      work(folder, basename(place.path)),
    );
  } catch (error) {
    throw describeFailure(error, place.shown);
  }
}

async function entryIn(folder: Folder, name: string): Promise<Entry> {
  try {
    const stats = await lstat(folder.at(name), { bigint: true });
    const mode = Number(stats.mode & PERMISSIONS);
    if (stats.isFile()) return { type: "file", mode, stats };
    if (stats.isDirectory()) return { type: "folder", mode };
    if (stats.isSymbolicLink()) return { type: "link", target: await readlink(folder.at(name)) };
    return { type: "other" };
  } catch (error) {
    return orMissing(error);
  }
}

function orMissing(error: unknown): Entry {
  const { cause = error } = error as Error;
  const code = errorCode(cause);
  // Below a file or a link there is nothing at this path itself.
  const isBelow = code === "ENOTDIR" || code === "ELOOP" || error instanceof FolderMovedError;
  if (code === "ENOENT" || isBelow) return { type: "missing" };
  throw error;
}

async function readIn(
  folder: Folder,
  name: string,
  { shown, maxBytes }: { readonly shown: string; readonly maxBytes: number },
): Promise<FileContent> {
  const handle = await open(folder.at(name), OPEN_FILE);
  try {
    const stats = await handle.stat({ bigint: true });
    if (stats.isDirectory()) throw new WorkspaceError(`${shown} is a folder`);
    if (!stats.isFile()) throw new WorkspaceError(`${shown} is not a regular file`);
    if (stats.size > maxBytes) {
      throw new WorkspaceError(`${shown} has ${stats.size} bytes, more than the limit ${maxBytes}`);
    }
    const bytes = await handle.readFile();
    await folder.recheck();
    return { bytes, mode: Number(stats.mode & PERMISSIONS) };
  } finally {
    await handle.close();
  }
}

/** Creates something under a temporary name and gives it its name, which replaces what has it. */
async function replaceIn(
  folder: Folder,
  name: string,
  create: (temporary: string) => Promise<unknown>,
): Promise<void> {
  const temporary = folder.at(temporaryName());
  try {
    await create(temporary);
    await rename(temporary, folder.at(name));
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

function temporaryName(): string {
  return `.convoke-${randomBytes(8).toString("hex")}.tmp`;
}

/** Whether a name is that of a file that is being written; a crash may leave one behind. */
export function isTemporaryName(name: string): boolean {
  return /^\.convoke-[0-9a-f]{16}\.tmp$/.test(name);
}

/** Gives a new file the mode and the owner of the one that it replaces. */
async function takeOver(handle: FileHandle, old: Entry, mode?: number): Promise<void> {
  if (old.type === "file") {
    const { uid, gid } = await handle.stat({ bigint: true });
    if (uid !== old.stats.uid || gid !== old.stats.gid) {
      // Only root may do this. Otherwise the file belongs to the one who writes it, as with `cp`.
      await handle.chown(Number(old.stats.uid), Number(old.stats.gid)).catch(() => undefined);
    }
  }
  const wanted = mode ?? (old.type === "file" ? old.mode : undefined);
  if (wanted !== undefined) await handle.chmod(wanted);
}

async function removeTreeIn(parent: Folder, name: string): Promise<void> {
  await withFolder(parent.child(name), async (folder) => {
    for (const inner of await readdir(folder.base)) {
      const { type } = await entryIn(folder, inner);
      await (type === "folder" ? removeTreeIn(folder, inner) : unlink(folder.at(inner)));
    }
  });
  await rmdir(parent.at(name));
}

function unlessExists(error: unknown): void {
  if (errorCode(error) !== "EEXIST") throw error;
}
