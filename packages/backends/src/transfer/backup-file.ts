import { type Hash, createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { isObject } from "@convoke/protocol/internal";
import { type StoreRecord, TransferError } from "./store.ts";

/** The first line of a backup, which is readable as it is. */
interface BackupHeader {
  readonly format: "convoke-backup";
  readonly version: number;
  readonly createdAt: string;
  /** Where the tasks were: a folder, or an address without a password. */
  readonly source: string;
}

/** A later version may add kinds of records only with a new number. Version 1 had no files of tasks. */
const VERSION = 2;

/** The records after it are of the store with this path. */
interface StoreStart {
  readonly kind: "store";
  readonly path: string;
}

export type BackupItem = StoreRecord | StoreStart;

/** The last line: how many lines came before it, and their hash. */
interface BackupEnd {
  readonly kind: "end";
  readonly lines: number;
  readonly sha256: string;
}

/**
 * Writes a backup: a header in plain text, and then, compressed by Zstandard, one JSON line for each
 * record and one with a checksum. The file has another name until it is complete and on disk.
 */
export async function writeBackup(
  file: string,
  source: string,
  items: AsyncIterable<BackupItem>,
): Promise<void> {
  const header: BackupHeader = {
    format: "convoke-backup",
    version: VERSION,
    createdAt: new Date().toISOString(),
    source,
  };
  const draft = `${file}.${randomUUID()}.part`;
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.write(`${JSON.stringify(header)}\n`);
      const output = createWriteStream(draft, { fd: handle.fd, autoClose: false });
      await pipeline(Readable.from(chunks(items)), createZstdCompress(), output);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Characters that are compressed at a time. */
const CHUNK = 256 * 1024;

async function* chunks(items: AsyncIterable<BackupItem>): AsyncGenerator<string> {
  const hash = createHash("sha256");
  let lines = 0;
  let chunk = "";
  for await (const item of items) {
    chunk += `${JSON.stringify(item)}\n`;
    lines += 1;
    if (chunk.length < CHUNK) continue;
    hash.update(chunk);
    yield chunk;
    chunk = "";
  }
  hash.update(chunk);
  const end: BackupEnd = { kind: "end", lines, sha256: hash.digest("hex") };
  yield `${chunk}${JSON.stringify(end)}\n`;
}

/** Reads a backup. The last item comes only if the checksum is right; otherwise it rejects. */
export async function* readBackup(file: string): AsyncGenerator<BackupItem> {
  const start = await readHeader(file);
  const hash = createHash("sha256");
  let count = 0;
  let isComplete = false;
  for await (const line of linesOf(file, start)) {
    const item = JSON.parse(line) as BackupItem | BackupEnd;
    if (item.kind === "end") {
      isComplete = isRight(item, count, hash);
      break;
    }
    hash.update(`${line}\n`);
    count += 1;
    yield item;
  }
  if (!isComplete) throw damaged(file);
}

async function* linesOf(file: string, start: number): AsyncGenerator<string> {
  const text = createZstdDecompress().setEncoding("utf8");
  // The iteration rejects if this does.
  pipeline(createReadStream(file, { start }), text).catch(() => undefined);
  let rest = "";
  for await (const chunk of text as AsyncIterable<string>) {
    const lines = chunk.split("\n");
    lines[0] = rest + lines[0]!;
    rest = lines.pop()!;
    yield* lines;
  }
}

function isRight({ lines, sha256 }: BackupEnd, count: number, hash: Hash): boolean {
  return lines === count && sha256 === hash.digest("hex");
}

export function damaged(file: string, cause?: unknown): TransferError {
  return new TransferError(
    `${file} is damaged or not complete: its checksum is wrong. Use another backup.`,
    { cause },
  );
}

/** How long the first line can be. */
const MAX_HEADER = 10_000;

/** Checks the first line, and resolves to where the rest starts. */
async function readHeader(file: string): Promise<number> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEADER), 0, MAX_HEADER, 0);
    const end = buffer.subarray(0, bytesRead).indexOf("\n");
    const header = end < 0 ? undefined : parse(buffer.toString("utf8", 0, end));
    if (!isObject(header) || header["format"] !== "convoke-backup") {
      throw new TransferError(`${file} is not a backup of Convoke.`);
    }
    if (header["version"] !== VERSION && header["version"] !== 1) {
      throw new TransferError(
        `${file} has version ${String(header["version"])}, and this software reads version ${VERSION}: restore it with the version that wrote it.`,
      );
    }
    return end + 1;
  } finally {
    await handle.close();
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
