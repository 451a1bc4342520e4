import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AcceptedMessage, NewPush, NewTask, Seq, StoredSnapshot } from "@convoke/engine";
import {
  InvalidStepError,
  type StateRules,
  checkCommit,
  wakeAtAfter,
} from "@convoke/engine/backend";
import { unpackLines } from "../storage/front-coding.ts";
import { TaskCache } from "../storage/task-cache.ts";
import { type CommitTimes, encodeTimes } from "./commit-times.ts";
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

/**
 * Checks steps, and keeps what they change until `flush` writes it: one row per task and one for its
 * events, however many steps there were. Only `flush` needs a transaction.
 */
export class StepWriter {
  readonly #cache = new TaskCache<CachedTask>();
  /** The tasks that have changed since the last flush. */
  #changed = new Map<string, CachedTask>();
  /** How many characters these changes have. */
  #length = 0;
  #newTasks = 0;
  /** No task has a greater id; `undefined` if that is not known. Applies to ids of ASCII characters. */
  #greatestId: string | undefined;
  readonly #rules: StateRules;
  readonly #messages: MessageWriter;
  readonly #contexts: ContextWriter;
  readonly #pushes: PushWriter;
  readonly #counts: TaskCounts;
  readonly #findTask: StatementSync;
  readonly #findGreatestId: StatementSync;
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
      SELECT n, owner, context AS contextId, agent_id AS agentId, epoch, state, status_at AS statusAt, listed,
        wake_at AS wakeAt, ifnull((SELECT max(last) FROM segments WHERE task = n), 0) AS head,
        ifnull((SELECT seq FROM snapshots WHERE task = n), 0) AS snapshotSeq
      FROM tasks WHERE task_id = ?`);
    this.#findGreatestId = db.prepare("SELECT max(task_id) AS id FROM tasks");
    this.#findSegments = db.prepare(
      "SELECT first, body FROM segments WHERE task = ? AND last > ? ORDER BY last",
    );
    this.#insertTask = db.prepare(`
      INSERT INTO tasks (task_id, owner, context, agent, agent_id, epoch, state, status_at, created_at, listed, ended, wake_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#insertSegment = db.prepare(
      "INSERT INTO segments (task, first, last, body, at, times) VALUES (?, ?, ?, ?, ?, ?)",
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

  /** How many tasks have changed since the last flush. */
  get changedTasks(): number {
    return this.#changed.size;
  }

  /** How many of them have no row yet. */
  get newTasks(): number {
    return this.#newTasks;
  }

  /** How many characters these changes have. */
  get changedLength(): number {
    return this.#length;
  }

  hasChanged(taskId: string): boolean {
    return this.#changed.has(taskId);
  }

  /**
   * All checks come before the first change, so a refused step changes nothing.
   *
   * @param at when the step is committed
   */
  write(step: SentStep, at: number): StepAnswer {
    checkValues(step);
    const stored = this.#find(step.taskId);
    const { message, create, count } = step;
    const scope = message === undefined && create === undefined ? undefined : scopeOf(step, stored);
    const { agentId = null } = create ?? stored ?? {};
    const taken = message && scope && this.#messages.find(scope, message.messageId, agentId);
    const isForgotten =
      create?.unlessForgotten === true &&
      scope !== undefined &&
      this.#isForgotten(scope, create.contextId);
    const hasEvents = (after: Seq): boolean => this.#hasEvents(stored!, after, step);
    const result = checkCommit({ step, count, stored, taken, isForgotten, hasEvents }, this.#rules);
    if (result !== undefined) return result;

    const task = stored === undefined ? this.#create(step) : this.#update(stored, step);
    const changes = this.#changesOf(step.taskId, task);
    if (message !== undefined) {
      this.#messages.claim(task, step.taskId, message);
      (changes.messages ??= []).push({ ...message, at: step.statusAt });
    }
    if (count > 0) this.#append(task, changes, step, at);
    if (step.snapshot !== undefined && step.snapshot.seq > task.snapshotSeq) {
      changes.snapshot = step.snapshot;
      this.#length += step.snapshot.json.length;
      task.snapshotSeq = step.snapshot.seq;
    }
    if (step.push !== undefined) (changes.pushes ??= []).push(step.push);
    return task.head;
  }

  /** Writes what has changed since the last flush, within a transaction. */
  flush(): void {
    for (const [taskId, task] of this.#changed) {
      this.#flush(taskId, task, task.changes!);
      task.changes = undefined;
    }
    this.#clearChanges();
  }

  /** Removes a task from the cache, because it was removed or changed by other means. */
  drop(taskId: string): void {
    this.#cache.drop(taskId);
  }

  /** Drops cached rows because another connection may have written. Call it only when nothing is unwritten. */
  forget(): void {
    this.#cache.clear();
    this.#greatestId = undefined;
  }

  /** Forgets all changes, after a transaction that was rolled back. */
  reset(): void {
    this.forget();
    this.#clearChanges();
  }

  #clearChanges(): void {
    this.#changed = new Map();
    this.#length = 0;
    this.#newTasks = 0;
    this.#messages.flushed();
  }

  #changesOf(taskId: string, task: CachedTask): Changes {
    if (task.changes !== undefined) return task.changes;
    this.#changed.set(taskId, task);
    return (task.changes = {});
  }

  #append(task: CachedTask, changes: Changes, { count, body }: SentStep, at: number): void {
    task.head += count;
    this.#length += body.length;
    const { events } = changes;
    if (events === undefined) {
      changes.events = { first: task.head - count + 1, body, at, times: undefined };
      return;
    }
    events.body += `\n${body}`;
    // Most steps of a task are committed at different times.
    events.times ??= [[task.head - count + 1 - events.first, events.at]];
    events.times.push([count, at]);
  }

  /** Writes only what has changed: a plain append does not touch `tasks`. */
  #flush(taskId: string, task: CachedTask, changes: Changes): void {
    const { events, snapshot, messages, pushes } = changes;
    const n = (task.n ??= this.#insert(taskId, task, changes.create!));
    if (task.stored !== undefined) this.#rewrite(n, task, task.stored);
    task.stored = columnsOf(task);
    for (const message of messages ?? []) this.#messages.take(task, { n, taskId }, message);
    if (events !== undefined) {
      const { first, body, at, times } = events;
      this.#insertSegment.run(n, first, task.head, body, at, encodeTimes(at, times));
    }
    if (snapshot !== undefined) this.#putSnapshot.run(n, snapshot.seq, snapshot.json);
    for (const push of pushes ?? []) this.#pushes.put(taskId, push);
  }

  #insert(taskId: string, task: CachedTask, { agent, createdAt }: NewTask): number {
    const { owner, contextId, agentId, epoch, state, statusAt, listed, wakeAt } = task;
    const hasEnded = this.#rules.isTerminal(state);
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
      Number(listed),
      Number(hasEnded),
      wakeAt,
    );
    return Number(lastInsertRowid);
  }

  #rewrite(n: number, task: CachedTask, stored: Columns): void {
    const { epoch, state, statusAt, listed, wakeAt } = task;
    if (epoch !== stored.epoch) this.#setEpoch.run(epoch, n);
    if (state !== stored.state || statusAt !== stored.statusAt) {
      (this.#rules.isTerminal(state) ? this.#setEnd : this.#setStatus).run(state, statusAt, n);
    }
    if (listed !== stored.listed) this.#setListed.run(Number(listed), n);
    if (wakeAt !== stored.wakeAt) this.#setWake.run(wakeAt, n);
  }

  /** Whether the log has exactly the events of the step after a sequence. */
  #hasEvents(task: CachedTask, after: Seq, { body, count }: SentStep): boolean {
    const lines: string[] = [];
    for (const { first, body: stored } of this.#segmentsAfter(task, after)) {
      // A gap: compaction has removed events.
      if (first > after + lines.length + 1) return false;
      lines.push(...unpackLines(stored).slice(Math.max(0, after + 1 - first)));
      if (lines.length >= count) break;
    }
    return unpackLines(body).every((line, index) => lines[index] === line);
  }

  *#segmentsAfter({ n, changes }: CachedTask, after: Seq): Generator<SegmentRow> {
    if (n !== undefined) {
      yield* this.#findSegments.iterate(n, after) as unknown as Iterable<SegmentRow>;
    }
    if (changes?.events !== undefined) yield changes.events;
  }

  /** A context is not forgotten if one of its tasks is about to be written. */
  #isForgotten(scope: IdScope, contextId: string): boolean {
    if (!this.#contexts.isForgotten(scope, contextId)) return false;
    for (const { listed, owner, agentId, ...task } of this.#changed.values()) {
      const isMeant = scope.agentId === undefined || scope.agentId === agentId;
      if (listed && isMeant && owner === scope.owner && task.contextId === contextId) return false;
    }
    return true;
  }

  #find(taskId: string): CachedTask | undefined {
    const known = this.#changed.get(taskId) ?? this.#cache.get(taskId);
    if (known !== undefined || this.#isNew(taskId)) return known;
    const row = this.#findTask.get(taskId) as TaskRow | undefined;
    if (row === undefined) return undefined;
    const task = { ...row, listed: row.listed === 1, stored: undefined, changes: undefined };
    return this.#cache.keep(taskId, { ...task, stored: columnsOf(task) });
  }

  /** Ids of new tasks mostly increase, so that no query is needed to know that there is no such task. */
  #isNew(taskId: string): boolean {
    this.#greatestId ??= (this.#findGreatestId.get() as { readonly id: string | null }).id ?? "";
    // In other characters the order of SQLite is not that of JavaScript.
    return taskId > this.#greatestId && ASCII.test(taskId);
  }

  #create(step: SentStep): CachedTask {
    const { taskId, create, epoch, state, statusAt, listed } = step;
    const { owner, contextId, agentId = null } = create!;
    if (listed) this.#counts.listed({ owner, agentId }, state, 1);
    if (this.#rules.isTerminal(state)) this.#counts.ended(1);
    const task: CachedTask = {
      n: undefined,
      owner,
      contextId,
      agentId,
      epoch,
      state,
      statusAt,
      listed,
      wakeAt: wakeAtAfter(step, null, this.#rules),
      head: 0,
      snapshotSeq: 0,
      stored: undefined,
      changes: { create: create! },
    };
    this.#changed.set(taskId, task);
    this.#newTasks += 1;
    if (this.#greatestId !== undefined && taskId > this.#greatestId) this.#greatestId = taskId;
    return this.#cache.keep(taskId, task);
  }

  #update(task: CachedTask, step: SentStep): CachedTask {
    const { epoch, state, statusAt, listed } = step;
    const wakeAt = wakeAtAfter(step, task.wakeAt, this.#rules);
    this.#count(task, step);
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

const ASCII = /^[\0-\x7f]*$/;

/** Throws if a value could not be stored later: once a step is acknowledged, nothing may go wrong. */
function checkValues(step: SentStep): void {
  const { taskId, epoch, state, statusAt, listed, wakeAt, after } = step;
  const { create, message, snapshot, push } = step;
  const isValid =
    isText(taskId) &&
    isText(state) &&
    isNumber(epoch) &&
    isNumber(statusAt) &&
    typeof listed === "boolean" &&
    (wakeAt === undefined || wakeAt === null || isNumber(wakeAt)) &&
    (after === undefined || (isNumber(after.head) && isNumber(after.epoch))) &&
    (message === undefined || (isText(message.messageId) && isText(message.digest))) &&
    (snapshot === undefined || (isText(snapshot.json) && isNumber(snapshot.seq))) &&
    (push === undefined || (isText(push.id) && isText(push.config) && isNumber(push.cursor))) &&
    (create === undefined || isStorable(create));
  if (!isValid)
    throw new InvalidStepError(`the step of task ${taskId} has a value of a wrong type`);
}

function isStorable({ owner, contextId, agent, agentId, createdAt }: NewTask): boolean {
  const hasAgent = isText(agent) && (agentId === undefined || isText(agentId));
  return hasAgent && isText(owner) && isText(contextId) && isNumber(createdAt);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isNumber(value: unknown): boolean {
  return Number.isFinite(value);
}

/** Whose message ids and contexts count for a step; `undefined` if there is no such task. */
function scopeOf(
  { create, perAgent }: SentStep,
  stored: CachedTask | undefined,
): IdScope | undefined {
  const { owner, agentId = null } = create ?? stored ?? {};
  return owner === undefined ? undefined : { owner, ...(perAgent === true && { agentId }) };
}

type TaskRow = Omit<CachedTask, "n" | "listed" | "stored" | "changes"> & {
  readonly n: number;
  readonly listed: number;
};

interface SegmentRow {
  readonly first: Seq;
  readonly body: string;
}

/** The columns that steps change. */
interface Columns {
  readonly epoch: number;
  readonly state: TaskState;
  readonly statusAt: number;
  readonly listed: boolean;
  /** `null` for none. */
  readonly wakeAt: number | null;
}

function columnsOf({ epoch, state, statusAt, listed, wakeAt }: Columns): Columns {
  return { epoch, state, statusAt, listed, wakeAt };
}

/** A task in the cache of the writer, which saves a query for each step. */
interface CachedTask {
  /** The number of its row; `undefined` until it has one. */
  n: number | undefined;
  readonly owner: string;
  readonly contextId: string;
  /** `null` if the task has none. */
  readonly agentId: string | null;
  epoch: number;
  state: TaskState;
  statusAt: number;
  listed: boolean;
  wakeAt: number | null;
  head: Seq;
  snapshotSeq: Seq;
  /** What its row has; `undefined` until there is one. */
  stored: Columns | undefined;
  /** What the next flush writes, in addition to the columns that differ. */
  changes: Changes | undefined;
}

interface Changes {
  readonly create?: NewTask;
  events?: UnwrittenEvents;
  snapshot?: StoredSnapshot;
  messages?: (AcceptedMessage & { readonly at: number })[];
  pushes?: NewPush[];
}

/** Events that become one row. */
interface UnwrittenEvents {
  readonly first: Seq;
  body: string;
  /** When the first ones were committed. */
  readonly at: number;
  /** When the others were, if there are any. */
  times: CommitTimes | undefined;
}
