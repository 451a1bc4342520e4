import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { whyMarked } from "../storage/transfer-mark.ts";
import { type BackupItem, damaged, readBackup, writeBackup } from "./backup-file.ts";
import { Copied, type CopyOptions, copyRecords } from "./copy-records.ts";
import { openTree } from "./open-tree.ts";
import { type Store, type StoreRecord, type StoreTarget, TransferError } from "./store.ts";

export interface BackupOptions extends CopyOptions {
  /** A data folder, or the address of a Postgres database. Servers may use it meanwhile. */
  readonly from: string;
  /** The file to write. It must not exist. */
  readonly file: string;
}

/**
 * Writes everything that a data folder or a database contains to a file, together with the tasks of
 * sub-agents. Each store is read as it was at one moment, also under load.
 *
 * @example
 * await backupStores({ from: ".convoke/my-agent", file: "tasks.backup" });
 */
export async function backupStores(options: BackupOptions): Promise<{ readonly tasks: number }> {
  const { from, file } = options;
  if (existsSync(file)) throw new TransferError(`${file} exists already: name another file.`);
  const tree = openTree(from, options.files);
  const stores = await tree.stores();
  const written = { tasks: 0, records: 0 };
  try {
    for (const store of stores) await refuseIncomplete(store);
    await writeBackup(file, tree.label, itemsOf(stores, written, options));
    return written;
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}

async function refuseIncomplete(store: Store): Promise<void> {
  const mark = await store.mark();
  if (mark?.role !== "target") return;
  throw new TransferError(`${store.label} ${whyMarked(mark)} ${store.label}.`);
}

async function* itemsOf(
  stores: readonly Store[],
  written: { tasks: number; records: number },
  { onProgress, signal }: CopyOptions,
): AsyncGenerator<BackupItem> {
  // A parent first: what its log says about tasks of a sub-agent is then in the store of that one.
  const sources = [];
  for (const store of stores) sources.push(await store.read());
  try {
    for (const [index, source] of sources.entries()) {
      yield { kind: "store", path: stores[index]!.path };
      for await (const record of source.records()) {
        yield record;
        if (record.kind === "task") written.tasks += 1;
        written.records += 1;
        if (written.records % 1000 !== 0) continue;
        signal?.throwIfAborted();
        onProgress?.({ step: "copy", ...written });
      }
    }
  } finally {
    await Promise.all(sources.map((source) => source.close()));
  }
}

export interface RestoreOptions extends CopyOptions {
  readonly file: string;
  /** A data folder, or the address of a Postgres database. It must not have tasks. */
  readonly to: string;
}

/** The mark of a target that is restored. It can be tried again, from the start. */
const RESTORE = "restore";

/**
 * Restores a backup into an empty folder or database: all of it, or nothing. The whole file is checked
 * before anything is written.
 */
export async function restoreStores({ file, to, ...options }: RestoreOptions): Promise<Copied> {
  if (!existsSync(file)) throw new TransferError(`There is no file ${resolve(file)}.`);
  const paths = await checkBackup(file);
  const stores = openTree(to, options.files).at(paths);
  const locked: Store[] = [];
  const filled: StoreTarget[] = [];
  try {
    for (const store of stores) await checkEmpty(store);
    for (const store of stores) {
      await store.lock({ id: RESTORE, role: "target", peer: basename(file), isDone: false });
      locked.push(store);
    }
    for (const store of stores) filled.push(await store.fill(true));
    const copied = await restoreAll(file, filled, options);
    for (const target of filled) await target.finish();
    return copied;
  } catch (error) {
    await giveUp(locked, filled);
    throw error;
  } finally {
    await Promise.all([...filled, ...stores].map((one) => one.close()));
  }
}

/** Reads the whole file once. Resolves to the paths of its stores. */
async function checkBackup(file: string): Promise<readonly string[]> {
  const paths: string[] = [];
  try {
    for await (const item of readBackup(file)) if (item.kind === "store") paths.push(item.path);
  } catch (error) {
    throw error instanceof TransferError ? error : damaged(file, error);
  }
  if (paths[0] !== "" || !paths.every(isPath)) throw damaged(file);
  return paths;
}

/** Whether it stays within the folder that it is restored to. */
function isPath(path: string): boolean {
  return /^(?:agents\/(?!\.)[^/\\]+(?:\/agents\/(?!\.)[^/\\]+)*)?$/.test(path);
}

async function checkEmpty(store: Store): Promise<void> {
  const mark = await store.mark();
  if (mark !== undefined && mark.id !== RESTORE) {
    throw new TransferError(`${store.label} ${whyMarked(mark)} ${store.label}.`);
  }
  if (!(await store.isEmpty())) {
    throw new TransferError(`${store.label} has tasks already: name an empty place.`);
  }
}

async function restoreAll(
  file: string,
  targets: readonly StoreTarget[],
  options: CopyOptions,
): Promise<Copied> {
  const total = new Copied();
  const items = readBackup(file);
  await items.next();
  for (const target of targets) total.add(await copyRecords(storeIn(items), target, options));
  return total;
}

/** The records up to the next store, or to the end. */
async function* storeIn(items: AsyncGenerator<BackupItem>): AsyncGenerator<StoreRecord> {
  for (let next = await items.next(); next.done !== true; next = await items.next()) {
    if (next.value.kind === "store") return;
    yield next.value;
  }
}

/** Leaves nothing behind in the stores that were locked. */
async function giveUp(stores: readonly Store[], filled: readonly StoreTarget[]): Promise<void> {
  for (const target of filled) await target.close();
  for (const store of stores) {
    await store.discard();
    await store.setMark(undefined);
  }
}
