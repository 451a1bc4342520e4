import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { TaskState } from "@convoke/protocol";
import type { PruneQuery, Seq, Snapshot } from "@convoke/engine";
import type { ContextWriter, MessageWriter } from "./id-writers.ts";
import { unpackLines } from "./front-coding.ts";
import type { PushWriter } from "./push-table.ts";
import type { StepWriter } from "./step-writer.ts";
import type { TaskCounts } from "./task-counts.ts";

interface Parts {
  readonly steps: StepWriter;
  readonly messages: MessageWriter;
  readonly contexts: ContextWriter;
  readonly pushes: PushWriter;
  readonly counts: TaskCounts;
}

interface EndedTask {
  readonly n: number;
  readonly taskId: string;
  readonly owner: string;
  readonly context: string;
  readonly state: TaskState;
  readonly listed: number;
  readonly endedAt: number;
  readonly isPushed: number;
}

/** Removes tasks and compacts logs. Used in the writer thread, within a transaction. */
export class RetentionWriter {
  readonly #parts: Parts;
  readonly #oldestEnded: StatementSync;
  readonly #deletions: readonly StatementSync[];
  readonly #findEnded: StatementSync;
  readonly #lastSegment: StatementSync;
  readonly #dropSegments: StatementSync;
  readonly #cutSegment: StatementSync;
  readonly #putSnapshot: StatementSync;
  readonly #setCompacted: StatementSync;

  constructor(db: DatabaseSync, parts: Parts) {
    this.#parts = parts;
    this.#oldestEnded = db.prepare(OLDEST_ENDED);
    this.#deletions = [
      "DELETE FROM segments WHERE task = ?",
      "DELETE FROM snapshots WHERE task = ?",
      "DELETE FROM tasks WHERE n = ?",
    ].map((sql) => db.prepare(sql));
    this.#findEnded = db.prepare("SELECT n FROM tasks WHERE task_id = ? AND ended = 1");
    this.#lastSegment = db.prepare(
      "SELECT first, last, body FROM segments WHERE task = ? ORDER BY last DESC LIMIT 1",
    );
    this.#dropSegments = db.prepare("DELETE FROM segments WHERE task = ? AND last < ?");
    this.#cutSegment = db.prepare(
      "UPDATE segments SET first = last, body = ? WHERE task = ? AND last = ?",
    );
    this.#putSnapshot = db.prepare(
      "INSERT OR REPLACE INTO snapshots (task, seq, json) VALUES (?, ?, ?)",
    );
    this.#setCompacted = db.prepare("UPDATE tasks SET compacted = 1 WHERE n = ?");
  }

  prune({ endedBefore, keep, limit }: PruneQuery): number {
    this.#parts.steps.flush();
    const surplus = this.#parts.counts.endedTasks - keep;
    const removed: EndedTask[] = [];
    let rank = 0;
    // Both criteria apply to the oldest tasks first, so the first task that can stay ends the loop.
    for (const row of this.#oldestEnded.iterate()) {
      const task = row as unknown as EndedTask;
      const isExpired = task.endedAt < endedBefore || rank < surplus;
      if (!isExpired || removed.length >= limit) break;
      rank += 1;
      if (task.isPushed === 0) removed.push(task);
    }
    for (const task of removed) this.#delete(task);
    return removed.length;
  }

  compact(taskId: string, snapshot: Snapshot): boolean {
    this.#parts.steps.flush();
    const task = this.#findEnded.get(taskId) as { readonly n: number } | undefined;
    if (task === undefined || this.#parts.pushes.hasUndelivered(taskId)) return false;
    const segment = this.#lastSegment.get(task.n) as Segment | undefined;
    if (snapshot.seq !== (segment?.last ?? 0)) return false;
    if (segment !== undefined) this.#keepLastEvent(task.n, segment);
    this.#putSnapshot.run(task.n, snapshot.seq, snapshot.json);
    this.#setCompacted.run(task.n);
    this.#parts.steps.drop(taskId);
    return true;
  }

  #delete(task: EndedTask): void {
    const { n, taskId, owner, state, listed } = task;
    this.#parts.counts.ended(-1);
    if (listed === 1) {
      this.#parts.counts.listed(owner, state, -1);
      this.#parts.contexts.add(task);
    }
    this.#parts.pushes.deleteAll(taskId);
    this.#parts.messages.orphan(n);
    for (const deletion of this.#deletions) deletion.run(n);
    this.#parts.steps.drop(taskId);
  }

  #keepLastEvent(n: number, { first, last, body }: Segment): void {
    this.#dropSegments.run(n, last);
    if (first < last) this.#cutSegment.run(unpackLines(body).at(-1)!, n, last);
  }
}

/**
 * Merges the two halves of the index. Tasks that ended at the same time are in the
 * order of their creation.
 */
export const OLDEST_ENDED = `${endedSql(1)} UNION ALL ${endedSql(0)} ORDER BY endedAt, n`;

function endedSql(compacted: 0 | 1): string {
  return `
    SELECT n, task_id AS taskId, owner, context, state, listed, status_at AS endedAt,
      EXISTS (SELECT 1 FROM pushes WHERE pushes.task_id = tasks.task_id AND pushes.state = 'active') AS isPushed
    FROM tasks INDEXED BY tasks_ended WHERE ended = 1 AND compacted = ${compacted}`;
}

interface Segment {
  readonly first: Seq;
  readonly last: Seq;
  readonly body: string;
}
