import type { DatabaseSync, StatementSync } from "node:sqlite";
import { InvalidStepError } from "@convoke/engine/backend";
import { decodeTimes } from "./commit-times.ts";
import { ContextWriter, MessageWriter } from "./id-writers.ts";
import { PushWriter } from "./push-table.ts";
import { StepWriter } from "./step-writer.ts";
import { primaryCode, toFailure } from "./storage-error.ts";
import { TaskCounts } from "./task-counts.ts";
import type {
  BatchResult,
  OtherWrite,
  SentStep,
  SentWrite,
  WriteAnswer,
  WriteResults,
  WriterSettings,
} from "./thread-messages.ts";
import type { TaskState } from "@convoke/protocol";
import type { PruneQuery, RemoveQuery, Seq } from "@convoke/engine";
import { unpackLines } from "../storage/front-coding.ts";

const ENDED_COLUMNS =
  "n, task_id AS taskId, owner, agent_id AS agentId, context, state, listed, status_at AS endedAt";

/**
 * Merges the two halves of the index. Tasks that ended at the same time are in the
 * order of their creation.
 */
export const OLDEST_ENDED = `${endedSql(1)} UNION ALL ${endedSql(0)} ORDER BY endedAt, n`;

const COUNT_ENDED = `SELECT count(*) AS tasks FROM tasks INDEXED BY tasks_ended
  WHERE ended = 1 AND compacted IN (0, 1) AND status_at < :before`;

/** Dispatches the writes of a batch. Steps need no transaction until they are flushed; all others do. */
export class BatchWriter {
  readonly #steps: StepWriter;
  readonly #messages: MessageWriter;
  readonly #contexts: ContextWriter;
  readonly #pushes: PushWriter;
  readonly #retention: RetentionWriter;
  readonly #counts: TaskCounts;
  readonly #dataVersion: StatementSync;
  #version: unknown;

  constructor(
    db: DatabaseSync,
    { terminal, followers }: Pick<WriterSettings, "terminal" | "followers">,
  ) {
    this.#dataVersion = db.prepare("PRAGMA data_version");
    this.#dataVersion.setReturnArrays(true);
    const messages = (this.#messages = new MessageWriter(db));
    const contexts = (this.#contexts = new ContextWriter(db));
    const pushes = (this.#pushes = new PushWriter(db));
    const counts = (this.#counts = new TaskCounts(db));
    const parts = { messages, contexts, pushes, counts };
    const steps = (this.#steps = new StepWriter(db, { terminal, followers, ...parts }));
    this.#retention = new RetentionWriter(db, { steps, ...parts });
  }

  /** What the next flush writes. */
  get unwritten(): Pick<StepWriter, "changedTasks" | "newTasks" | "changedLength" | "hasChanged"> {
    return this.#steps;
  }

  /** Clears all caches if another connection has written since the last call. */
  refresh(): void {
    const [version] = this.#dataVersion.get() as unknown as [number];
    if (version !== this.#version) this.#steps.forget();
    this.#version = version;
  }

  /** @param at when it is committed */
  write(write: SentWrite, at: number): WriteAnswer {
    if (write.kind === undefined) return this.#step(write, at);
    this.#steps.flush();
    return { kind: "answered", value: this.#other(write) };
  }

  /** Writes the changes of all steps since the last flush. */
  flush(): void {
    this.#steps.flush();
    this.#counts.flush();
  }

  /** Forgets all changes and caches, after a transaction that was rolled back. */
  reset(): void {
    this.#steps.reset();
    this.#counts.reset();
  }

  /** An invalid step is refused before it changes anything. */
  #step(step: SentStep, at: number): WriteAnswer {
    try {
      return this.#steps.write(step, at);
    } catch (error) {
      if (error instanceof InvalidStepError) return { kind: "rejected", reason: error.message };
      throw error;
    }
  }

  #other(write: OtherWrite): WriteResults[keyof WriteResults] {
    switch (write.kind) {
      case "put-push":
        return this.#pushes.put(write.taskId, write.push);
      case "progress-push":
        return this.#pushes.progress(write.progress);
      case "delete-push":
        return this.#pushes.delete(write.taskId, write.id);
      case "prune":
        return this.#retention.prune(write.query);
      case "remove":
        return this.#retention.remove(write.query);
      case "compact":
        return this.#retention.compact(write);
      case "forget-messages":
        return this.#messages.forget(write.acceptedBefore, write.limit);
      case "forget-contexts":
        return this.#contexts.forget(write.endedBefore, write.limit);
      case "forget-owner":
        return this.#forgetOwner(write.owner);
      case "put-erasure":
        return this.#retention.putErasure(write.id, write.json);
      default:
        return write satisfies never;
    }
  }

  #forgetOwner(owner: string): undefined {
    this.#counts.flush();
    this.#counts.forgetOwner(owner);
    this.#messages.forgetOwner(owner);
    this.#contexts.forgetOwner(owner);
  }
}

/**
 * Executes one batch in one transaction. A refused or invalid write does not affect
 * the others. If the transaction itself fails, all of its writes fail.
 */
export function applyBatch(
  db: DatabaseSync,
  writer: BatchWriter,
  writes: readonly SentWrite[],
): BatchResult {
  const answers: WriteAnswer[] = [];
  const rejected = new Map<number, string>();
  const at = Date.now();
  for (;;) {
    let index = 0;
    try {
      db.exec("BEGIN IMMEDIATE");
      writer.refresh();
      for (; index < writes.length; index += 1) {
        const reason = rejected.get(index);
        answers[index] =
          reason === undefined ? writer.write(writes[index]!, at) : { kind: "rejected", reason };
      }
      writer.flush();
      const ready = performance.now();
      db.exec("COMMIT");
      return { kind: "answers", answers, syncMs: performance.now() - ready };
    } catch (error) {
      writer.reset();
      if (db.isTransaction) db.exec("ROLLBACK");
      if (index === writes.length || !isInvalidWrite(error))
        return { kind: "failed", failure: toFailure(error) };
      // The values of this write could not be stored: retry the batch without it.
      rejected.set(index, toFailure(error).message);
    }
  }
}

/** Whether the error is caused by the values of a write, not by the storage. */
function isInvalidWrite(error: unknown): boolean {
  const code = primaryCode(error);
  return (
    code === undefined ||
    code === "SQLITE_TOOBIG" ||
    code === "SQLITE_CONSTRAINT" ||
    code === "SQLITE_MISMATCH"
  );
}

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
  readonly agentId: string | null;
  readonly context: string;
  readonly state: TaskState;
  readonly listed: number;
  readonly endedAt: number;
  readonly isPushed: number;
}

/** Removes tasks and compacts logs, within a transaction. All steps must be flushed. */
class RetentionWriter {
  readonly #parts: Parts;
  readonly #oldestEnded: StatementSync;
  readonly #countEnded: StatementSync;
  readonly #deletions: readonly StatementSync[];
  readonly #findEnded: StatementSync;
  readonly #lastSegment: StatementSync;
  readonly #segments: StatementSync;
  readonly #dropSegments: StatementSync;
  readonly #putSegment: StatementSync;
  readonly #putSnapshot: StatementSync;
  readonly #setCompacted: StatementSync;
  readonly #putErasure: StatementSync;
  readonly #deleteErasure: StatementSync;

  constructor(db: DatabaseSync, parts: Parts) {
    this.#parts = parts;
    this.#oldestEnded = db.prepare(OLDEST_ENDED);
    this.#countEnded = db.prepare(COUNT_ENDED);
    this.#deletions = [
      "DELETE FROM segments WHERE task = ?",
      "DELETE FROM snapshots WHERE task = ?",
      "DELETE FROM tasks WHERE n = ?",
    ].map((sql) => db.prepare(sql));
    this.#findEnded = db.prepare(
      `SELECT ${ENDED_COLUMNS} FROM tasks WHERE task_id = ? AND ended = 1`,
    );
    this.#lastSegment = db.prepare(
      "SELECT last FROM segments WHERE task = ? ORDER BY last DESC LIMIT 1",
    );
    this.#segments = db.prepare(
      "SELECT first, last, body, at, times FROM segments WHERE task = ? ORDER BY last",
    );
    this.#dropSegments = db.prepare("DELETE FROM segments WHERE task = ?");
    this.#putSegment = db.prepare(
      "INSERT INTO segments (task, first, last, body, at) VALUES (?, ?, ?, ?, ?)",
    );
    this.#putSnapshot = db.prepare(
      "INSERT OR REPLACE INTO snapshots (task, seq, json) VALUES (?, ?, ?)",
    );
    this.#setCompacted = db.prepare("UPDATE tasks SET compacted = 1 WHERE n = ?");
    this.#putErasure = db.prepare("INSERT INTO erasures (id, json) VALUES (?, ?)");
    this.#deleteErasure = db.prepare("DELETE FROM erasures WHERE id = ?");
  }

  prune(query: PruneQuery): readonly string[] {
    const { endedBefore, keep, limit, owner, exceptOwners = [] } = query;
    const { agentId, exceptAgents = [], endedFrom = 0 } = query;
    const surplus = this.#parts.counts.endedTasks - keep;
    const removed: EndedTask[] = [];
    let rank = surplus > 0 && endedFrom > 0 ? this.#countEndedBefore(endedFrom) : 0;
    // Both criteria apply to the oldest tasks first, so the first task that can stay ends the loop.
    for (const row of this.#oldestEnded.iterate({ from: endedFrom })) {
      const task = row as unknown as EndedTask;
      const isExpired = task.endedAt < endedBefore || rank < surplus;
      if (!isExpired || removed.length >= limit) break;
      rank += 1;
      const isMeant = owner === undefined || task.owner === owner;
      if (!isMeant || exceptOwners.includes(task.owner)) continue;
      const isOfAgent = agentId === undefined || task.agentId === agentId;
      if (!isOfAgent || exceptAgents.includes(task.agentId ?? "")) continue;
      if (task.isPushed === 0) removed.push(task);
    }
    for (const task of removed) this.#delete(task);
    return removed.map(({ taskId }) => taskId);
  }

  #countEndedBefore(at: number): number {
    return Number(this.#countEnded.get({ before: at })?.["tasks"]);
  }

  remove({ taskIds, freesMessages }: RemoveQuery): readonly string[] {
    return taskIds.filter((taskId) => {
      const task = this.#findEnded.get(taskId) as Omit<EndedTask, "isPushed"> | undefined;
      if (task === undefined) return false;
      if (freesMessages === true) this.#parts.messages.free(task.n);
      this.#delete(task);
      return true;
    });
  }

  /** Resolves to whether it was stored before. */
  putErasure(id: string, json: string | null): boolean {
    const wasThere = this.#deleteErasure.run(id).changes === 1;
    if (json !== null) this.#putErasure.run(id, json);
    return wasThere;
  }

  compact({ taskId, snapshot, keep }: CompactWrite): boolean {
    const task = this.#findEnded.get(taskId) as Pick<EndedTask, "n"> | undefined;
    if (task === undefined || this.#parts.pushes.hasUndelivered(taskId)) return false;
    const segment = this.#lastSegment.get(task.n) as Pick<Segment, "last"> | undefined;
    if (snapshot.seq !== (segment?.last ?? 0)) return false;
    if (segment !== undefined) this.#keepEvents(task.n, new Set(keep).add(segment.last));
    this.#putSnapshot.run(task.n, snapshot.seq, snapshot.json);
    this.#setCompacted.run(task.n);
    this.#parts.steps.drop(taskId);
    return true;
  }

  #delete(task: Omit<EndedTask, "isPushed">): void {
    const { n, taskId, state, listed } = task;
    this.#parts.counts.ended(-1);
    if (listed === 1) {
      this.#parts.counts.listed(task, state, -1);
      this.#parts.contexts.add(task);
    }
    this.#parts.pushes.deleteAll(taskId);
    this.#parts.messages.orphan(n);
    for (const deletion of this.#deletions) deletion.run(n);
    this.#parts.steps.drop(taskId);
  }

  /** Rewrites a log with one segment for each event that is kept. */
  #keepEvents(n: number, seqs: ReadonlySet<Seq>): void {
    const kept: (readonly [seq: Seq, line: string, at: number | null])[] = [];
    for (const row of this.#segments.iterate(n)) {
      const { first, body, at, times } = row as unknown as Segment;
      const each = decodeTimes(at, times);
      for (const [index, line] of unpackLines(body).entries()) {
        if (seqs.has(first + index)) kept.push([first + index, line, each?.[index] ?? at]);
      }
    }
    this.#dropSegments.run(n);
    for (const [seq, line, at] of kept) this.#putSegment.run(n, seq, seq, line, at);
  }
}

function endedSql(compacted: 0 | 1): string {
  return `
    SELECT ${ENDED_COLUMNS},
      EXISTS (SELECT 1 FROM pushes WHERE pushes.task_id = tasks.task_id AND pushes.state = 'active') AS isPushed
    FROM tasks INDEXED BY tasks_ended WHERE ended = 1 AND compacted = ${compacted} AND status_at >= :from`;
}

type CompactWrite = Extract<OtherWrite, { readonly kind: "compact" }>;

interface Segment {
  readonly first: Seq;
  readonly last: Seq;
  readonly body: string;
  readonly at: number | null;
  readonly times: string | null;
}
