import { createHash } from "node:crypto";

/**
 * Stores the contents of large files, each for one task and under its SHA-256. Two tasks with the
 * same content have a copy each: then a content can be deleted with its task without looking for
 * others, also by processes that know nothing of each other. Every implementation passes the same
 * contract suite: `describeBlobStore` in `@convoke/engine/testing`.
 */
export interface BlobStore {
  /**
   * Stores a content, and resolves once it is durable. A crash leaves all of it or nothing. Storing it
   * again changes nothing. Rejects if the pieces do not have the size or the digest of the blob.
   */
  put(blob: NewBlob, content: BlobContent): Promise<void>;
  /**
   * Reads a content, or the bytes of a range. Resolves to `undefined` if it is not stored. What is
   * not read to its end is released when the iteration is left.
   */
  get(address: BlobAddress, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** The size of a content in bytes, or `undefined` if it is not stored. */
  size(address: BlobAddress): Promise<number | undefined>;
  /** Deletes all contents of a task. Does nothing if there are none. */
  deleteTask(taskId: string): Promise<void>;
  /** All tasks that have contents, in no particular order. */
  tasks(): AsyncIterable<TaskBlobs>;
  /**
   * A store of its own inside this one, for another storage of tasks, such as that of a sub-agent. It
   * is the same for the same name. Neither store finds, lists or deletes what is in the other.
   */
  below(name: string): BlobStore;
}

/** Identifies a content. */
export interface BlobAddress {
  readonly taskId: string;
  /** SHA-256 in hexadecimal digits. */
  readonly digest: string;
}

/** A content to be stored. */
export interface NewBlob extends BlobAddress {
  readonly size: number;
  /** What the content is, for people who look into the store. */
  readonly mediaType?: string | undefined;
}

/** Returns the pieces of a content from its beginning. Called once for each attempt to store it. */
export type BlobContent = () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Bytes of a content, both ends included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** A task with contents. */
export interface TaskBlobs {
  readonly taskId: string;
  /** When its newest content was stored, in milliseconds since the epoch. */
  readonly storedAt: number;
}

/** Passes on the pieces of a content, and throws at its end if it is not the blob that it should be. */
export async function* checkedContent(
  { digest, size }: Pick<NewBlob, "digest" | "size">,
  content: BlobContent,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash("sha256");
  let length = 0;
  for await (const piece of content()) {
    hash.update(piece);
    length += piece.byteLength;
    yield piece;
  }
  if (length !== size) throw new Error(`the content has ${length} bytes instead of ${size}`);
  if (hash.digest("hex") !== digest) throw new Error("the content does not have its digest");
}

/** A content that is in the store could not be read or written. */
export class BlobStoreError extends Error {
  override readonly name = "BlobStoreError";
  /** The next attempt may succeed. */
  readonly isPermanent = false;
}
