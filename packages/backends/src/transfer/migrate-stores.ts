import { randomUUID } from "node:crypto";
import { type TransferMark, whyMarked } from "../storage/transfer-mark.ts";
import { Copied, type CopyOptions, compareRecords, copyRecords } from "./copy-records.ts";
import { openTree } from "./open-tree.ts";
import { type Store, type StoreTarget, TransferError } from "./store.ts";

export interface MigrateOptions extends CopyOptions {
  /** A data folder, or the address of a Postgres database. */
  readonly from: string;
  /** The other one. It must not have tasks. */
  readonly to: string;
}

/** A store that moves, and where. */
interface Move {
  readonly source: Store;
  readonly target: Store;
  readonly id: string;
  /** What the stores said before. */
  readonly before: {
    readonly source: TransferMark | undefined;
    readonly target: TransferMark | undefined;
  };
}

/**
 * Moves tasks and all that belongs to them from a data folder to a database, or back, together with
 * those of sub-agents. No server may use either. What was copied is compared with its source; then the
 * source is marked as moved, and servers refuse it. If it is cut off, at any point, the next call with
 * the same stores goes on.
 *
 * @example
 * await migrateStores({ from: ".convoke/my-agent", to: "postgres://convoke@db/convoke" });
 */
export async function migrateStores({ from, to, ...options }: MigrateOptions): Promise<Copied> {
  const { files } = options;
  const [source, target] = [openTree(from, files), openTree(to, files)];
  if (source.constructor === target.constructor) {
    throw new TransferError(
      "Name a data folder and the address of a database. To copy between two of a kind, use convoke backup and convoke restore.",
    );
  }
  const sources = await source.stores();
  const targets = target.at(sources.map(({ path }) => path));
  // The first store comes last: as long as it is not moved, no server starts.
  const pairs = sources.map((one, index) => [one, targets[index]!] as const).toReversed();
  try {
    const moves: Move[] = [];
    for (const pair of pairs) moves.push(...(await plan(...pair)));
    if (moves.length === 0) throw new TransferError(`${source.label} was moved already.`);
    await lockAll(moves);
    return await moveAll(moves, options);
  } finally {
    await Promise.all(pairs.flat().map((store) => store.close()));
  }
}

/** Checks that one store can move to the other. Empty if it has moved already. */
async function plan(source: Store, target: Store): Promise<readonly Move[]> {
  const before = { source: await source.mark(), target: await target.mark() };
  const { source: moved, target: filled } = before;
  if (moved?.role === "target" || (moved !== undefined && moved.peer !== target.label)) {
    throw new TransferError(`${source.label} ${whyMarked(moved)} ${source.label}.`);
  }
  if (moved?.isDone === true && filled === undefined) return [];
  const id = moved?.id ?? randomUUID();
  if (filled !== undefined && (filled.role !== "target" || filled.id !== id)) {
    throw new TransferError(`${target.label} ${whyMarked(filled)} ${target.label}.`);
  }
  if (filled === undefined && !(await target.isEmpty())) {
    throw new TransferError(`${target.label} has tasks already: name an empty place.`);
  }
  return [{ source, target, id, before }];
}

/** Either all are marked, or none more than before. */
async function lockAll(moves: readonly Move[]): Promise<void> {
  const undo: (() => Promise<void>)[] = [];
  const lock = async (store: Store, mark: TransferMark, before: TransferMark | undefined) => {
    await store.lock(mark);
    undo.push(() => store.setMark(before));
  };
  try {
    for (const { source, target, id, before } of moves) {
      const isDone = before.source?.isDone === true;
      await lock(source, { id, role: "source", peer: target.label, isDone }, before.source);
      const mark = { id, role: "target", peer: source.label, isDone: false } as const;
      await lock(target, mark, before.target);
    }
  } catch (error) {
    for (const undoOne of undo) await undoOne();
    throw error;
  }
}

async function moveAll(moves: readonly Move[], options: CopyOptions): Promise<Copied> {
  const total = new Copied();
  const filled: { readonly move: Move; readonly target: StoreTarget }[] = [];
  try {
    for (const move of moves) {
      const target = await move.target.fill(false);
      filled.push({ move, target });
      total.add(await copyAndCompare(move, target, options));
    }
    for (const { move, target } of filled) {
      const { source, id } = move;
      // In this order: if it is cut off in between, the target is still known as that of this source.
      await source.setMark({ id, role: "source", peer: move.target.label, isDone: true });
      await target.finish();
    }
    return total;
  } finally {
    await Promise.all(filled.map(({ target }) => target.close()));
  }
}

async function copyAndCompare(
  { source }: Move,
  target: StoreTarget,
  options: CopyOptions,
): Promise<Copied> {
  const reading = await source.read();
  try {
    const copied = await copyRecords(reading.records(), target, options);
    if (target.written === Infinity) return copied;
    const copy = await target.reread();
    try {
      await compareRecords(reading, copy, options);
    } finally {
      await copy.close();
    }
    return copied;
  } finally {
    await reading.close();
  }
}

/**
 * Takes back a move: a source can be used again as it was, and a target that is not complete is
 * emptied. Resolves to false if there is nothing to take back.
 */
export async function undoMove(place: string): Promise<boolean> {
  const stores = await openTree(place).stores();
  let isUndone = false;
  try {
    for (const store of stores) {
      const mark = await store.mark();
      if (mark === undefined) continue;
      await store.lock(mark);
      if (mark.role === "target") await store.discard();
      await store.setMark(undefined);
      isUndone = true;
    }
    return isUndone;
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}
