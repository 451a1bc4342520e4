import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  type NewBlob,
  type BlobAddress,
  type BlobContent,
  type BlobStore,
  BlobStoreError,
  type ByteRange,
  type TaskBlobs,
  checkedContent,
} from "@convoke/engine";
import { belowName, blobName, taskName, taskOfName } from "./blob-names.ts";

/**
 * Keeps contents as files: a folder for each task, with one file for each content. Only this user can
 * read them. Several processes may share the folder, also on a network file system.
 *
 * @example
 * const store = createFolderBlobStore("/srv/convoke/files");
 */
export function createFolderBlobStore(folder: string): BlobStore {
  return new FolderBlobStore(folder);
}

class FolderBlobStore implements BlobStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = resolve(folder);
  }

  async put(blob: NewBlob, content: BlobContent): Promise<void> {
    const file = this.#fileOf(blob);
    const folder = this.#folderOf(blob.taskId);
    try {
      if ((await sizeOf(file)) === blob.size) return;
      const created = await mkdir(folder, { recursive: true, mode: 0o700 });
      if (created !== undefined) await syncAbove(folder, dirname(created));
      // Not visible before it is complete: a reader looks for the final name only.
      const draft = `${file}.${randomBytes(6).toString("hex")}.part`;
      try {
        await writeSynced(draft, checkedContent(blob, content));
        await rename(draft, file);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
      await syncFolder(folder);
    } catch (cause) {
      throw failed("stored", cause);
    }
  }

  async get(
    address: BlobAddress,
    range?: ByteRange,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const file = this.#fileOf(address);
    return (await sizeOf(file)) === undefined ? undefined : readPieces(file, range);
  }

  size(address: BlobAddress): Promise<number | undefined> {
    return sizeOf(this.#fileOf(address));
  }

  async deleteTask(taskId: string): Promise<void> {
    await rm(this.#folderOf(taskId), { recursive: true, force: true });
  }

  async *tasks(): AsyncGenerator<TaskBlobs, void, undefined> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      const taskId = taskOfName(name);
      const found = await stat(join(this.#folder, name)).catch(() => undefined);
      // The time of a folder changes with each file that is added to it.
      if (taskId !== undefined && found?.isDirectory() === true) {
        yield { taskId, storedAt: found.mtimeMs };
      }
    }
  }

  below(name: string): BlobStore {
    return new FolderBlobStore(join(this.#folder, belowName(name)));
  }

  #folderOf(taskId: string): string {
    return join(this.#folder, taskName(taskId));
  }

  #fileOf({ taskId, digest }: BlobAddress): string {
    return join(this.#folderOf(taskId), blobName(digest));
  }
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw failed("read", error);
  }
}

/** Writes a new file, and resolves once its content is on the disk. */
async function writeSynced(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  await withFile(path, "wx", async (file) => {
    for await (const piece of content) await file.writeFile(piece);
    await file.sync();
  });
}

/** Makes the name of a new folder durable, and those of the new ones above it, up to one that was there before. */
async function syncAbove(folder: string, existing: string): Promise<void> {
  for (let above = dirname(folder); ; above = dirname(above)) {
    await syncFolder(above);
    if (above === existing || above === dirname(above)) return;
  }
}

/** Makes the names in a folder durable. Windows has no such call, and does not need it. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  await withFile(path, "r", (folder) => folder.sync());
}

async function withFile(
  path: string,
  flags: string,
  use: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await use(file);
  } finally {
    await file.close();
  }
}

/** The file is opened with the first piece, so that what is never read stays closed. */
async function* readPieces(
  path: string,
  range: ByteRange | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await open(path, "r");
  try {
    const bounds = range && { start: range.first, end: range.last };
    yield* file.createReadStream({ ...bounds, autoClose: false }) as AsyncIterable<Uint8Array>;
  } finally {
    await file.close();
  }
}

function failed(what: string, cause: unknown): BlobStoreError {
  const { message } = cause as Error;
  return new BlobStoreError(`a file could not be ${what}: ${message}`, { cause });
}
