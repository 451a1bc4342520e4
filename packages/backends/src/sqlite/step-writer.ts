import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Seq } from "@convoke/engine";
import { type StateRules, checkCommit, notOneLine, wakeAtAfter } from "@convoke/engine/backend";
import { unpackLines } from "../storage/front-coding.ts";
import { TaskCache } from "../storage/task-cache.ts";
import type { ContextWriter, IdScope, MessageWriter } from "./id-writers.ts";
import type { PushWriter } from "./push-table.ts";
import type { TaskCounts } from "./task-counts.ts";
import type { SentStep, StepAnswer, WriterSettings } from "./thread-messages.ts";
import type { TaskState } from "@convoke/protocol";

interface Parts extends Pick<WriterSettings, "terminal" | "followers"> {
  readonly messages: MessageWriter;
  readonly contexts: ContextWriter;
  readonly pushes: PushWriter;
  readonly counts: TaskCounts;
}

/** Checks and writes steps. Used in the writer thread, within a transaction. */
export class StepWriter {
  readonly #cache = new TaskCache<CachedTask>();
  #appended: CachedTask[] = [];
  readonly #rules: StateRules;
  readonly #messages: MessageWriter;
  readonly #contexts: ContextWriter;
  readonly #pushes: PushWriter;
  readonly #counts: TaskCounts;
  readonly #findTask: StatementSync;
  readonly #findSegments: StatementSync;
  readonly #insertTask: StatementSync;
  readonly #insertSegment: StatementSync;
  readonly #putSnapshot: StatementSync;
  readonly #setEpoch: StatementSync;
  readonly #setStatus: StatementSync;
  readonly #setEnd: StatementSync;
  readonly #setListed: StatementSync;
  readonly #setWake: StatementSync;

  constructor(db: DatabaseSync, parts: Parts) {
    const { terminal, followers, messages, contexts, pushes, counts } = parts;
    this.#messages = messages;
    this.#contexts = contexts;
    this.#pushes = pushes;
    this.#counts = counts;
    this.#rules = {
      isTerminal: (state) => terminal.has(state),
      mayFollow: (from, to) => followers.get(from)?.has(to) ?? false,
    };
    this.#findTask = db.prepare(`
      SELECT n, owner, agent_id AS agentId, epoch, state, status_at AS statusAt, listed, wake_at AS wakeAt,
        ifnull((SELECT max(last) FROM segments WHERE task = n), 0) AS head,
        ifnull((SELECT seq FROM snapshots WHERE task = n), 0) AS snapshotSeq
      FROM tasks WHERE task_id = ?`);
    this.#findSegments = db.prepare(
      "SELECT first, body FROM segments WHERE task = ? AND last > ? ORDER BY last",
    );
    this.#insertTask = db.prepare(`
      INSERT INTO tasks (task_id, owner, context, agent, agent_id, epoch, state, status_at, created_at, listed, ended, wake_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#insertSegment = db.prepare(
      "INSERT INTO segments (task, first, last, body, at) VALUES (?, ?, ?, ?, ?)",
    );
    this.#putSnapshot = db.prepare(
      "INSERT OR REPLACE INTO snapshots (task, seq, json) VALUES (?, ?, ?)",
    );
    // Several statements, because SQLite updates the indexes of every column that a statement sets.
    this.#setEpoch = db.prepare("UPDATE tasks SET epoch = ? WHERE n = ?");
    this.#setStatus = db.prepare("UPDATE tasks SET state = ?, status_at = ? WHERE n = ?");
    this.#setEnd = db.prepare("UPDATE tasks SET state = ?, status_at = ?, ended = 1 WHERE n = ?");
    this.#setListed = db.prepare("UPDATE tasks SET listed = ? WHERE n = ?");
    this.#setWake = db.prepare("UPDATE tasks SET wake_at = ? WHERE n = ?");
  }

  /**
   * All checks come before the first write, so a refused step writes nothing. The
   * events are written by `flush`.
   */
  write(step: SentStep): StepAnswer {
    if (!hasLines(step.body, step.count)) throw notOneLine(step.taskId);
    const stored = this.#find(step.taskId);
    const scope = scopeOf(step, stored);
    const { message, create, count } = step;
    const { agentId = null } = create ?? stored ?? {};
    const taken = message && scope && this.#messages.find(scope, message.messageId, agentId);
    const isForgotten =
      create?.unlessForgotten === true &&
      scope !== undefined &&
      this.#contexts.isForgotten(scope, create.contextId);
    const hasEvents = (after: Seq): boolean => this.#hasEvents(stored!, after, step);
    const result = checkCommit({ step, count, stored, taken, isForgotten, hasEvents }, this.#rules);
    if (result !== undefined) return result.kind === "committed" ? result.head : result;

    const task = stored === undefined ? this.#create(step) : this.#update(stored, step);
    if (step.message !== undefined) this.#messages.take(task, step, step.message);
    if (step.count > 0) this.#append(task, step);
    if (step.snapshot !== undefined && step.snapshot.seq > task.snapshotSeq) {
      this.#putSnapshot.run(task.n, step.snapshot.seq, step.snapshot.json);
      task.snapshotSeq = step.snapshot.seq;
    }
    if (step.push !== undefined) this.#pushes.put(step.taskId, step.push);
    return task.head;
  }

  /** Writes the events of all steps since the last flush: one row per task, however many steps there were. */
  flush(): void {
    const at = Date.now();
    for (const task of this.#appended) {
      this.#insertSegment.run(task.n, task.written + 1, task.head, task.unwritten!, at);
      task.written = task.head;
      task.unwritten = undefined;
    }
    this.#appended = [];
  }

  /** Removes a task from the cache, because it was removed or changed by other means. */
  drop(taskId: string): void {
    this.#cache.drop(taskId);
  }

  /** Clears the cache after a transaction that was rolled back. */
  reset(): void {
    this.#cache.clear();
    this.#appended = [];
  }

  #append(task: CachedTask, { count, body }: SentStep): void {
    if (task.unwritten === undefined) this.#appended.push(task);
    task.unwritten = task.unwritten === undefined ? body : `${task.unwritten}\n${body}`;
    task.head += count;
  }

  /** Whether the log has exactly the events of the step after a sequence. */
  #hasEvents({ n }: CachedTask, after: Seq, { body, count }: SentStep): boolean {
    this.flush();
    const lines: string[] = [];
    for (const row of this.#findSegments.iterate(n, after)) {
      const { first, body: stored } = row as unknown as SegmentRow;
      // A gap: compaction has removed events.
      if (first > after + lines.length + 1) return false;
      lines.push(...unpackLines(stored).slice(Math.max(0, after + 1 - first)));
      if (lines.length >= count) break;
    }
    return unpackLines(body).every((line, index) => lines[index] === line);
  }

  #find(taskId: string): CachedTask | undefined {
    const known = this.#cache.get(taskId);
    if (known !== undefined) return known;
    const row = this.#findTask.get(taskId) as TaskRow | undefined;
    if (row === undefined) return undefined;
    return this.#cache.keep(taskId, { ...row, listed: row.listed === 1, written: row.head });
  }

  #create(step: SentStep): CachedTask {
    const { taskId, create, epoch, state, statusAt, listed } = step;
    const { owner, contextId, agent, agentId = null, createdAt } = create!;
    const flags = [Number(listed), Number(this.#rules.isTerminal(state))];
    const wakeAt = wakeAtAfter(step, null, this.#rules);
    if (listed) this.#counts.listed({ owner, agentId }, state, 1);
    if (this.#rules.isTerminal(state)) this.#counts.ended(1);
    const { lastInsertRowid } = this.#insertTask.run(
      taskId,
      owner,
      contextId,
      agent,
      agentId,
      epoch,
      state,
      statusAt,
      createdAt,
      ...flags,
      wakeAt,
    );
    return this.#cache.keep(taskId, {
      n: Number(lastInsertRowid),
      owner,
      agentId,
      epoch,
      state,
      statusAt,
      listed,
      head: 0,
      written: 0,
      snapshotSeq: 0,
      wakeAt,
    });
  }

  /** Writes only what has changed: a plain append does not touch `tasks`. */
  #update(task: CachedTask, step: SentStep): CachedTask {
    const { epoch, state, statusAt, listed } = step;
    const wakeAt = wakeAtAfter(step, task.wakeAt, this.#rules);
    this.#count(task, step);
    if (epoch !== task.epoch) this.#setEpoch.run(epoch, task.n);
    if (state !== task.state || statusAt !== task.statusAt) {
      (this.#rules.isTerminal(state) ? this.#setEnd : this.#setStatus).run(state, statusAt, task.n);
    }
    if (listed !== task.listed) this.#setListed.run(Number(listed), task.n);
    if (wakeAt !== task.wakeAt) this.#setWake.run(wakeAt, task.n);
    task.epoch = epoch;
    task.state = state;
    task.statusAt = statusAt;
    task.listed = listed;
    task.wakeAt = wakeAt;
    return task;
  }

  #count(before: CachedTask, { state, listed }: SentStep): void {
    if (state === before.state && listed === before.listed) return;
    if (before.listed) this.#counts.listed(before, before.state, -1);
    if (listed) this.#counts.listed(before, state, 1);
    const hadEnded = this.#rules.isTerminal(before.state);
    if (!hadEnded && this.#rules.isTerminal(state)) this.#counts.ended(1);
  }
}

/** Whose message ids and contexts count for a step; `undefined` if there is no such task. */
function scopeOf(
  { create, perAgent }: SentStep,
  stored: CachedTask | undefined,
): IdScope | undefined {
  const { owner, agentId = null } = create ?? stored ?? {};
  return owner === undefined ? undefined : { owner, ...(perAgent === true && { agentId }) };
}

type TaskRow = Omit<CachedTask, "listed" | "written" | "unwritten"> & { readonly listed: number };

interface SegmentRow {
  readonly first: Seq;
  readonly body: string;
}

/** Whether the text has exactly `count` lines. */
function hasLines(text: string, count: number): boolean {
  let breaks = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) breaks += 1;
  return breaks === Math.max(0, count - 1);
}

/** A task in the cache of the writer, which saves a query for each step. */
interface CachedTask {
  readonly n: number;
  readonly owner: string;
  /** `null` if the task has none. */
  readonly agentId: string | null;
  epoch: number;
  state: TaskState;
  statusAt: number;
  listed: boolean;
  head: Seq;
  snapshotSeq: Seq;
  /** `null` for none. */
  wakeAt: number | null;
  /** The joined events of the open transaction after `written`, which become one segment. */
  unwritten?: string | undefined;
  written: Seq;
}
