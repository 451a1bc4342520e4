import { FILE_VALUES } from "./folder-files.ts";
import type { StoreRecord, StoreSource, StoreTarget } from "./store.ts";
import { TransferError } from "./store.ts";

/** How far a copy is. */
export interface TransferProgress {
  readonly step: "copy" | "compare";
  readonly tasks: number;
  readonly records: number;
}

export interface CopyOptions {
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The folder with the large files of a database, see `FileOptions.store`. Default: there are none. */
  readonly files?: string | undefined;
  /** The most records that are written at a time. Default 1000: large enough to be fast. */
  readonly batchRecords?: number | undefined;
}

/** What was copied. */
export class Copied {
  tasks = 0;
  records = 0;
  /** How many rows the target has no table for, by the name of their table. */
  readonly leftOut = new Map<string, number>();

  add({ tasks, records, leftOut }: Copied): void {
    this.tasks += tasks;
    this.records += records;
    for (const [table, rows] of leftOut) this.leaveOut(table, rows);
  }

  leaveOut(table: string, rows = 1): void {
    this.leftOut.set(table, (this.leftOut.get(table) ?? 0) + rows);
  }
}

/** The most characters that are written at a time, so that large logs do not fill the memory. */
const MAX_CHARACTERS = 4_000_000;

/** Copies what the target does not have yet. */
export async function copyRecords(
  records: AsyncIterable<StoreRecord> | Iterable<StoreRecord>,
  target: StoreTarget,
  { onProgress, signal, batchRecords = 1000 }: CopyOptions = {},
): Promise<Copied> {
  const copied = new Copied();
  const start = target.written;
  let batch: StoreRecord[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    signal?.throwIfAborted();
    if (batch.length > 0) await target.write(batch);
    batch = [];
    characters = 0;
    onProgress?.({ step: "copy", tasks: copied.tasks, records: copied.records });
  };
  for await (const record of records) {
    if (record.kind === "task") copied.tasks += 1;
    if (!target.accepts(record)) {
      if (record.kind === "blob") throw noPlaceForFiles();
      if (record.kind === "row") copied.leaveOut(record.table);
      continue;
    }
    copied.records += 1;
    if (copied.records <= start) continue;
    batch.push(record);
    characters += lengthOf(record);
    if (batch.length >= batchRecords || characters >= MAX_CHARACTERS) await flush();
  }
  await flush();
  return copied;
}

function noPlaceForFiles(): TransferError {
  return new TransferError(
    "The tasks have large files, and a database has no place for them: name the folder in which servers will find them with --files.",
  );
}

function lengthOf(record: StoreRecord): number {
  if (record.kind === "segment") return record.body.length;
  if (record.kind === "blob") return record.base64.length;
  return record.kind === "snapshot" || record.kind === "row" ? record.json.length : 100;
}

/**
 * Compares two stores record by record: every task with its state and its whole log, every message
 * id and every push. What only Postgres has is not compared: rows, sequences and values, where what the
 * target had before counts, and hosts.
 */
export async function compareRecords(
  source: StoreSource,
  target: StoreSource,
  { onProgress, signal, batchRecords = 1000 }: CopyOptions = {},
): Promise<void> {
  const copies = compared(target);
  let tasks = 0;
  let records = 0;
  for await (const record of compared(source)) {
    const { value: copy } = await copies.next();
    if (JSON.stringify(record) !== JSON.stringify(copy)) throw differs(record, copy ?? undefined);
    if (record.kind === "task") tasks += 1;
    records += 1;
    if (records % batchRecords !== 0) continue;
    signal?.throwIfAborted();
    onProgress?.({ step: "compare", tasks, records });
  }
  const { value: surplus } = await copies.next();
  if (surplus !== undefined && surplus !== null) throw differs(undefined, surplus);
}

async function* compared(source: StoreSource): AsyncGenerator<StoreRecord, undefined> {
  for await (const record of source.records()) {
    if (["row", "sequence", "host"].includes(record.kind)) continue;
    if (record.kind === "file" && FILE_VALUES.some(({ file }) => file === record.name)) continue;
    yield record;
  }
}

function differs(record: StoreRecord | undefined, copy: StoreRecord | undefined): TransferError {
  return new TransferError(
    `The copy is not the same as its source at ${nameOf(record)} (the copy has ${nameOf(copy)}): discard it with convoke migrate --undo, and try again.`,
  );
}

function nameOf(record: StoreRecord | undefined): string {
  if (record === undefined) return "its end";
  if ("taskId" in record) return `the ${record.kind} of task ${record.taskId}`;
  return `a ${record.kind}`;
}
