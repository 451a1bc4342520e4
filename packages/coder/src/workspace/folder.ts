import { constants, existsSync } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { WorkspaceError } from "./workspace-error.ts";

/** Linux can address the entries of an open folder, as `openat` does; see {@link Folder}. */
export const HAS_PROC = existsSync("/proc/self/fd");

const OPEN_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A folder is not, or no longer, where its path says. */
export class FolderMovedError extends WorkspaceError {}

/**
 * An open folder whose real path is known to be the given one. Its entries are addressed relative to
 * the open folder and not by path, so a parent that is replaced by a link meanwhile cannot lead
 * elsewhere. Systems without `/proc` have no such paths in Node; there `recheck` detects the change
 * afterwards.
 */
export class Folder {
  readonly path: string;
  readonly #handle: FileHandle;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  /** Opens a folder by its real path, and rejects it if it is somewhere else by now. */
  static async open(path: string): Promise<Folder> {
    const folder = new Folder(path, await open(path, OPEN_FOLDER));
    try {
      await folder.recheck();
      return folder;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /** The path that addresses the open folder itself. */
  get base(): string {
    return HAS_PROC ? `/proc/self/fd/${this.#handle.fd}` : this.path;
  }

  /** The path that addresses an entry. The caller must not follow it if it is a link. */
  at(name: string): string {
    if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) {
      throw new WorkspaceError(`${JSON.stringify(name)} is not a file name`);
    }
    return `${this.base}/${name}`;
  }

  /** Opens a folder inside this one. */
  async child(name: string): Promise<Folder> {
    const handle = await open(this.at(name), OPEN_FOLDER);
    const folder = new Folder(join(this.path, name), handle);
    if (HAS_PROC) return folder;
    try {
      await folder.recheck();
      return folder;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /** Throws if the folder that was opened is not, or no longer, at its path. */
  async recheck(): Promise<void> {
    const actual = HAS_PROC ? await readlink(this.base) : await realpath(this.path);
    if (actual === this.path) return;
    throw new FolderMovedError("The folder was moved or replaced by a link meanwhile; try again");
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Runs work with an open folder, and closes it afterwards. */
export async function withFolder<T>(
  opened: Promise<Folder>,
  work: (folder: Folder) => Promise<T>,
): Promise<T> {
  const folder = await opened;
  try {
    return await work(folder);
  } finally {
    await folder.close();
  }
}
