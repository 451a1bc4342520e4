import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { blobName, taskName } from "../files/blob-names.ts";
import type { BlobRow, Store, StoreRecord, StoreSource, StoreTarget } from "./store.ts";

/** How many bytes of a file one record has. */
const PIECE = 512 * 1024;

/** A store together with a folder that has the large files of its tasks. */
export function withBlobs(store: Store, folder: string): Store {
  return {
    label: store.label,
    path: store.path,
    mark: () => store.mark(),
    setMark: (mark) => store.setMark(mark),
    isEmpty: () => store.isEmpty(),
    lock: (mark) => store.lock(mark),
    close: () => store.close(),
    read: async () => withBlobRows(await store.read(), folder),
    async fill(isAtomic) {
      if (isAtomic) removeIncoming(folder);
      return withBlobFiles(await store.fill(isAtomic), folder);
    },
    async discard() {
      removeIncoming(folder);
      await store.discard();
    },
  };
}

/** Adds the files after all other records, so that those are counted in the same way as without files. */
function withBlobRows(source: StoreSource, folder: string): StoreSource {
  return {
    close: () => source.close(),
    async *records(): AsyncGenerator<StoreRecord> {
      const names = new Set(existsSync(folder) ? readdirSync(folder) : []);
      const tasks: string[] = [];
      for await (const record of source.records()) {
        if (record.kind === "task" && names.has(taskName(record.taskId))) tasks.push(record.taskId);
        yield record;
      }
      for (const taskId of tasks) yield* blobRows(folder, taskId);
    },
  };
}

function* blobRows(folder: string, taskId: string): Generator<BlobRow> {
  const files = join(folder, taskName(taskId));
  // Retention may have deleted the task since its record was read.
  const digests = existsSync(files) ? readdirSync(files).filter(isDigest).toSorted() : [];
  for (const digest of digests) yield* pieces(join(files, digest), { taskId, digest });
}

function isDigest(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}

function* pieces(file: string, blob: Pick<BlobRow, "taskId" | "digest">): Generator<BlobRow> {
  const opened = openSync(file, "r");
  try {
    const buffer = Buffer.alloc(PIECE);
    for (let first = 0; ;) {
      const length = readSync(opened, buffer, 0, PIECE, first);
      if (length === 0 && first > 0) return;
      yield { kind: "blob", ...blob, first, base64: buffer.toString("base64", 0, length) };
      first += length;
      if (length < PIECE) return;
    }
  } finally {
    closeSync(opened);
  }
}

/** Files have another folder until the store is complete. A piece that is written twice is the same. */
function withBlobFiles(target: StoreTarget, folder: string): StoreTarget {
  const incoming = incomingFolder(folder);
  return {
    get written() {
      return target.written;
    },
    accepts: (record) => record.kind === "blob" || target.accepts(record),
    async write(records) {
      const others = records.filter((record) => record.kind !== "blob");
      if (others.length > 0) await target.write(others);
      for (const record of records) if (record.kind === "blob") writePiece(incoming, record);
    },
    reread: async () => withBlobRows(await target.reread(), incoming),
    async finish() {
      moveIn(incoming, folder);
      await target.finish();
    },
    close: () => target.close(),
  };
}

function writePiece(folder: string, { taskId, digest, first, base64 }: BlobRow): void {
  const file = join(folder, taskName(taskId), blobName(digest));
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const opened = openSync(file, first === 0 ? "w" : "r+", 0o600);
  try {
    const bytes = Buffer.from(base64, "base64");
    writeSync(opened, bytes, 0, bytes.length, first);
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

/** Moves the files of each task to their final place. Can be repeated if it is cut off. */
function moveIn(incoming: string, folder: string): void {
  if (!existsSync(incoming)) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(incoming)) {
    rmSync(join(folder, name), { recursive: true, force: true });
    renameSync(join(incoming, name), join(folder, name));
  }
  rmSync(incoming, { recursive: true });
}

function incomingFolder(folder: string): string {
  return `${folder}.incoming`;
}

function removeIncoming(folder: string): void {
  rmSync(incomingFolder(folder), { recursive: true, force: true });
}
