import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";

const fdatasyncLater = promisify(fdatasync);

/** The name of the commit log in a data folder. */
export const COMMIT_LOG = "commits.log";

/**
 * The size of the file. It is written once in full, because a sync after a write that enlarges a file
 * also has to store its new size, and costs more.
 */
const CAPACITY = 2 * 1024 * 1024;

/** How much of the file is written at a time while it is created. */
const FILLED_AT_ONCE = 64 * 1024;

/** Length, checksum, the id of the log, the number of the record. */
const HEADER = 24;

/** UTF-8 has at most this many bytes for a character of JavaScript. */
const MOST_BYTES_PER_CHARACTER = 3;

/** The longest text of a record. */
export const LONGEST_RECORD = 512 * 1024;

/** One record of a commit log. */
export interface LogRecord {
  /** The records of a log have consecutive numbers, also after the file was begun again. */
  readonly number: number;
  readonly text: string;
}

export interface CommitLogOptions {
  readonly file: string;
  /** The id of the database that it belongs to, as 16 hexadecimal digits. */
  readonly id: string;
  /** The number of the last record that is in the database. */
  readonly applied: number;
  /** Whether each record is synced to the disk. */
  readonly isSynced: boolean;
}

/**
 * A file of commits that are durable and not yet in the database. A commit is one write and one sync,
 * however many rows and index entries it takes in the database later.
 *
 * A record is `<length><checksum><id><number><text>`. The file is overwritten from its start once all of
 * its records are in the database, so what follows the last record may be a part of earlier ones: these
 * have other numbers. A record that was not written completely has another checksum.
 */
export class CommitLog {
  readonly #file: string;
  readonly #id: Buffer;
  readonly #isSynced: boolean;
  #descriptor: number | undefined;
  #buffer = Buffer.allocUnsafeSlow(64 * 1024);
  /** The number of the last record. */
  #last: number;
  /** Where the next record is written. */
  #end = 0;
  /** The number of a record that may be there or not, because it could not be written or synced. */
  #doubtful: number | undefined;

  /** Creates the file if it is missing, with access for this user only. */
  constructor({ file, id, applied, isSynced }: CommitLogOptions) {
    this.#file = file;
    this.#id = Buffer.from(id, "hex");
    this.#isSynced = isSynced;
    this.#last = applied;
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  }

  /** The number of the last record. */
  get last(): number {
    return this.#last;
  }

  /** Whether nothing was added since the file was begun. */
  get isEmpty(): boolean {
    return this.#end === 0;
  }

  /** Whether a record with this text may be too long for the rest of the file. */
  isFullFor(text: string): boolean {
    return this.#end + HEADER + text.length * MOST_BYTES_PER_CHARACTER > CAPACITY;
  }

  /** Whether it is time to put everything into the database and begin the file again. */
  get isLong(): boolean {
    return this.#end > CAPACITY / 2;
  }

  /** Whether nothing can be added before the file is begun again, because the last record is in doubt. */
  get isBroken(): boolean {
    return this.#doubtful !== undefined;
  }

  /** Adds a record, which is durable once it was synced. Returns its number. */
  append(text: string): number {
    this.#last += 1;
    this.#attempt(() => {
      const length = this.#encode(text);
      writeAll((this.#descriptor ??= this.#open()), this.#buffer.subarray(0, length), this.#end);
      this.#end += length;
    });
    return this.#last;
  }

  /** Syncs the last record. Returns how long the disk took, in milliseconds. */
  sync(): number {
    const started = performance.now();
    if (this.#isSynced) this.#attempt(() => fdatasyncSync(this.#descriptor!));
    return performance.now() - started;
  }

  /** The same without waiting for the disk here. Nothing can be added meanwhile. */
  async syncLater(): Promise<number> {
    const started = performance.now();
    if (this.#isSynced) {
      await fdatasyncLater(this.#descriptor!).catch((error: unknown) => this.#fail(error));
    }
    return performance.now() - started;
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): never {
    this.#doubtful = this.#last;
    throw error;
  }

  /** Begins the file again. The database must have the number of the last record, synced to the disk. */
  restart(): void {
    this.#end = 0;
    this.#doubtful = undefined;
  }

  /** Whether the file has records, in the database or not. It is removed when a server stops. */
  get isLeft(): boolean {
    return this.#recordAt(readFileSync(this.#file), 0) !== undefined;
  }

  /** The records after a number, if they continue it. */
  *recordsAfter(number: number): Generator<LogRecord> {
    const bytes = readFileSync(this.#file);
    let place = 0;
    let before: number | undefined;
    for (;;) {
      const record = this.#recordAt(bytes, place);
      if (record === undefined || (before !== undefined && record.number !== before + 1)) return;
      // The database is older than the log: it is not known what came before this record.
      if (before === undefined && record.number > number + 1) return;
      if (record.number === this.#doubtful) return;
      before = record.number;
      place += record.size;
      if (record.number <= number) continue;
      this.#last = record.number;
      this.#end = place;
      yield { number: record.number, text: record.text };
    }
  }

  /** Returns the unused space of the file to the operating system. The next record takes it again. */
  releaseSpace(): void {
    if (this.#descriptor === undefined) return;
    ftruncateSync(this.#descriptor, this.#end);
    this.#close();
  }

  /** Overwrites all bytes of the file. All records must be in the database, synced to the disk. */
  erase(): void {
    this.#end = 0;
    this.#close();
    const descriptor = openSync(this.#file, "r+");
    try {
      fill(descriptor, fstatSync(descriptor).size);
    } finally {
      closeSync(descriptor);
    }
  }

  /** Closes the file, and removes it if all of its records are in the database. */
  close(isApplied: boolean): void {
    this.#close();
    if (isApplied) rmSync(this.#file, { force: true });
  }

  #close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Enlarges the file, and stores its size and its name before the first record needs them. */
  #open(): number {
    const descriptor = openSync(this.#file, "r+");
    try {
      if (fstatSync(descriptor).size < CAPACITY) {
        fill(descriptor, CAPACITY, this.#end);
        syncFolder(dirname(this.#file));
      }
      return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  /** Writes a record to the buffer. Returns its length. */
  #encode(text: string): number {
    const most = HEADER + text.length * MOST_BYTES_PER_CHARACTER;
    if (this.#buffer.length < most) this.#buffer = Buffer.allocUnsafeSlow(2 * most);
    const buffer = this.#buffer;
    const length = HEADER + buffer.write(text, HEADER, "utf8");
    buffer.writeUInt32BE(length, 0);
    buffer.set(this.#id, 8);
    buffer.writeUIntBE(this.#last, 16, 6);
    buffer.writeUInt16BE(0, 22);
    buffer.writeUInt32BE(crc32(buffer.subarray(8, length)), 4);
    return length;
  }

  #recordAt(bytes: Buffer, place: number): (LogRecord & { readonly size: number }) | undefined {
    if (bytes.length - place < HEADER) return undefined;
    const size = bytes.readUInt32BE(place);
    if (size < HEADER || size > bytes.length - place) return undefined;
    const record = bytes.subarray(place, place + size);
    if (crc32(record.subarray(8)) !== record.readUInt32BE(4)) return undefined;
    if (!record.subarray(8, 16).equals(this.#id)) return undefined;
    return { number: record.readUIntBE(16, 6), text: record.toString("utf8", HEADER), size };
  }
}

/**
 * Writes zeros up to a size, and syncs them. Not all at once: Linux may then keep the file as one block of
 * memory, and goes through all of its pages for each commit.
 */
function fill(descriptor: number, size: number, from = 0): void {
  const zeros = Buffer.alloc(FILLED_AT_ONCE);
  for (let place = from; place < size; place += FILLED_AT_ONCE) {
    writeAll(descriptor, zeros.subarray(0, size - place), place);
  }
  fsyncSync(descriptor);
}

/** A disk that is almost full may take a part only; the rest then fails with the reason. */
function writeAll(descriptor: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length;) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, position + written);
  }
}

/** Stores the names of new files. Not every system can sync a folder. */
function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, "r");
    fsyncSync(descriptor);
    closeSync(descriptor);
  } catch {}
}
