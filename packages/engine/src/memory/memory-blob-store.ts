import type {
  NewBlob,
  BlobAddress,
  BlobContent,
  BlobStore,
  ByteRange,
  TaskBlobs,
} from "../log/blob-store.ts";
import { checkedContent } from "../log/blob-store.ts";

/** Keeps contents in memory only. */
export class MemoryBlobStore implements BlobStore {
  readonly #tasks = new Map<string, { readonly blobs: Map<string, Buffer>; storedAt: number }>();
  readonly #below = new Map<string, MemoryBlobStore>();

  async put(blob: NewBlob, content: BlobContent): Promise<void> {
    const pieces: Uint8Array[] = [];
    for await (const piece of checkedContent(blob, content)) pieces.push(piece);
    const { taskId, digest } = blob;
    const task = this.#tasks.get(taskId) ?? { blobs: new Map(), storedAt: 0 };
    task.storedAt = Date.now();
    task.blobs.set(digest, Buffer.concat(pieces));
    this.#tasks.set(taskId, task);
  }

  async get(
    { taskId, digest }: BlobAddress,
    range?: ByteRange,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const bytes = this.#tasks.get(taskId)?.blobs.get(digest);
    return bytes && pieces(range ? bytes.subarray(range.first, range.last + 1) : bytes);
  }

  async size({ taskId, digest }: BlobAddress): Promise<number | undefined> {
    return this.#tasks.get(taskId)?.blobs.get(digest)?.byteLength;
  }

  async deleteTask(taskId: string): Promise<void> {
    this.#tasks.delete(taskId);
  }

  async *tasks(): AsyncGenerator<TaskBlobs, void, undefined> {
    for (const [taskId, { storedAt }] of this.#tasks) yield { taskId, storedAt };
  }

  below(name: string): MemoryBlobStore {
    const store = this.#below.get(name) ?? new MemoryBlobStore();
    this.#below.set(name, store);
    return store;
  }

  clear(): void {
    this.#tasks.clear();
    this.#below.clear();
  }
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  if (bytes.byteLength > 0) yield bytes;
}
