import type { TaskState } from "@convoke/protocol";
import type { Seq, TaskRecord } from "@convoke/server/backend";

/** A record as SQLite gives it: an array, which is cheaper to make than an object. */
export type TaskRow = readonly [
  taskId: string,
  owner: string,
  contextId: string,
  agent: string,
  epoch: number,
  head: Seq,
  state: TaskState,
  statusAt: number,
  createdAt: number,
  listed: number,
  snapshotSeq: Seq | null,
  snapshot: string | null,
  wakeAt: number | null,
  compacted: number,
];

export function toRecords(rows: readonly unknown[]): readonly TaskRecord[] {
  return (rows as readonly TaskRow[]).map(toRecord);
}

export function toRecord(row: TaskRow): TaskRecord {
  const [
    taskId,
    owner,
    contextId,
    agent,
    epoch,
    head,
    state,
    statusAt,
    createdAt,
    listed,
    seq,
    json,
    wakeAt,
    compacted,
  ] = row;
  return {
    taskId,
    owner,
    contextId,
    agent,
    epoch,
    head,
    state,
    statusAt,
    createdAt,
    listed: listed === 1,
    compacted: compacted === 1,
    ...(seq !== null && json !== null && { snapshot: { seq, json } }),
    ...(wakeAt !== null && { wakeAt }),
  };
}
