import type { PushState, Seq } from "@convoke/engine";
import type { TaskState } from "@convoke/protocol";
import type { TransferMark } from "../storage/transfer-mark.ts";

/**
 * Everything that a store contains, in a form that does not depend on the store. The records of each
 * kind come together and in a fixed order, so that two stores with the same content have the same
 * records: tasks, segments, snapshots and pushes by the id of their task, which starts with the time
 * of its creation; messages by their key; contexts, rows, sequences and files by their names.
 *
 * What belongs to running processes is left out: leases, and mailbox entries, whose senders have no
 * answer yet and send them again.
 */
export type StoreRecord =
  | TaskRow
  | HostRow
  | SegmentRow
  | SnapshotRow
  | PushRow
  | MessageRow
  | ContextRow
  | TableRow
  | SequenceRow
  | FileRow
  | BlobRow;

interface TaskRow {
  readonly kind: "task";
  readonly taskId: string;
  readonly owner: string;
  readonly context: string;
  readonly agent: string;
  readonly agentId: string | null;
  readonly epoch: number;
  readonly state: TaskState;
  readonly statusAt: number;
  readonly createdAt: number;
  readonly listed: boolean;
  readonly compacted: boolean;
  readonly wakeAt: number | null;
}

/** The host on which a task has to run, in a store that several hosts share. */
interface HostRow {
  readonly kind: "host";
  readonly taskId: string;
  readonly host: string;
}

/** A part of the log of a task. The body is packed as in the store. */
interface SegmentRow {
  readonly kind: "segment";
  readonly taskId: string;
  readonly first: Seq;
  readonly last: Seq;
  /** In logs of versions that did not store it, the time when the task was created. */
  readonly at: number;
  readonly body: string;
}

interface SnapshotRow {
  readonly kind: "snapshot";
  readonly taskId: string;
  readonly seq: Seq;
  readonly json: string;
}

interface PushRow {
  readonly kind: "push";
  readonly taskId: string;
  readonly id: string;
  readonly config: string;
  readonly generation: number;
  readonly cursor: Seq;
  readonly state: PushState;
  readonly failingSince: number | null;
  readonly problem: string | null;
}

/** The id of an accepted message, as a hash. */
interface MessageRow {
  readonly kind: "message";
  readonly key: string;
  readonly taskId: string;
  readonly digest: string;
  readonly at: number;
  /** Whether retention has removed its task. */
  readonly isOrphan: boolean;
}

/** A context from which retention has removed tasks. */
interface ContextRow {
  readonly kind: "context";
  readonly owner: string;
  readonly context: string;
  readonly agentId: string;
  readonly at: number;
}

/** A row of a table that only some stores have. */
export interface TableRow {
  readonly kind: "row";
  readonly table: string;
  readonly json: string;
}

/** The last number that a sequence of Postgres has given. */
interface SequenceRow {
  readonly kind: "sequence";
  readonly name: string;
  readonly value: number;
}

/** A small file beside the tasks, such as the record of the agent. */
export interface FileRow {
  readonly kind: "file";
  readonly name: string;
  readonly text: string;
}

/** A piece of a large file of a task. The pieces of a file come in order, after all other records. */
export interface BlobRow {
  readonly kind: "blob";
  readonly taskId: string;
  readonly digest: string;
  /** The position of its first byte in the file. */
  readonly first: number;
  readonly base64: string;
}

/** A store that is read. Everything comes from one moment, also while servers use the store. */
export interface StoreSource {
  records(): AsyncIterable<StoreRecord> | Iterable<StoreRecord>;
  close(): Promise<void>;
}

/** A store that is filled. No server can use it before it is finished. */
export interface StoreTarget {
  /** How many records it has from an earlier attempt. Infinity: all, and they were compared. */
  readonly written: number;
  /** Stores the next records: all or none of them. */
  write(records: readonly StoreRecord[]): Promise<void>;
  /** Whether this kind of store has a place for the record. */
  accepts(record: StoreRecord): boolean;
  /** What was written so far, to be compared. */
  reread(): Promise<StoreSource>;
  /** Makes it a store that servers can use. */
  finish(): Promise<void>;
  /** Without `finish` it stays as it is, and can be opened again to go on. */
  close(): Promise<void>;
}

/** A data folder or a schema of a database: the tasks of one agent, or of the agents of one host. */
export interface Store {
  /** For people: without a password. */
  readonly label: string;
  /** Its place among the stores of its sub-agents, such as `agents/hotels`; empty for the first one. */
  readonly path: string;
  /** What it says about a move. */
  mark(): Promise<TransferMark | undefined>;
  setMark(mark: TransferMark | undefined): Promise<void>;
  /** Whether it has no tasks and no ids of messages, or does not exist. */
  isEmpty(): Promise<boolean>;
  /**
   * Sets the mark and keeps servers away, or rejects if one uses the store: then the mark is as it
   * was. A folder is locked until `close`.
   */
  lock(mark: TransferMark | undefined): Promise<void>;
  read(): Promise<StoreSource>;
  /**
   * Starts to fill it, or goes on. It must be locked and marked.
   *
   * @param isAtomic leave nothing behind if it is not finished; it cannot go on either.
   */
  fill(isAtomic: boolean): Promise<StoreTarget>;
  /** Removes what was filled in and not finished. */
  discard(): Promise<void>;
  close(): Promise<void>;
}

/** A store together with those of its sub-agents. */
export interface StoreTree {
  readonly label: string;
  /** All stores that exist, the first one first. */
  stores(): Promise<readonly Store[]>;
  /**
   * The stores with these paths, whether or not they exist yet.
   *
   * @param paths all of the tree
   */
  at(paths: readonly string[]): readonly Store[];
}

/** A move, a backup or a restore is not possible. The message is a sentence that says what to do. */
export class TransferError extends Error {
  override readonly name = "TransferError";
}
