import type { CommitResult, CommitStep, NewTask, Seq } from "@convoke/engine";
import { InvalidStepError, type TakenMessage } from "@convoke/engine/backend";
import { unpackLines } from "../storage/front-coding.ts";
import { TaskCache } from "../storage/task-cache.ts";
import type { Connection, Rows } from "./connection.ts";
import { sqlState, toFailure } from "./database-error.ts";
import { stateAt } from "./schema.ts";
import { type IdScope, messageKey } from "./message-key.ts";
import {
  type Knowledge,
  type StepPlan,
  type TaskChange,
  type TaskFacts,
  contextKey,
  planSteps,
  scopeOf,
} from "./step-plan.ts";
import { NOT_AS_ASSUMED, toStatements } from "./step-sql.ts";
import { fromText, toText } from "./text.ts";

interface Parts {
  /** The number of this process, which works on the tasks that its steps mark as running. */
  readonly replica: () => number;
  /** Called after a task was written. */
  readonly onWritten: (change: TaskChange) => void;
  /** Called for each step that was written. */
  readonly onCommitted: (taskId: string, head: Seq) => void;
}

/** A connection that writes, and the shard of the counts that only it updates. */
export interface Lane {
  readonly connection: Connection;
  readonly shard: number;
}

/** A batch of which nothing is written after so many attempts meets another one each time. */
const ATTEMPTS = 20;

/**
 * Writes batches of steps. What a batch assumes about its tasks comes from a cache and is checked by
 * the statements that write it, so that most batches need one message to the server. Tasks that were
 * not as assumed are read, and their steps are planned again.
 */
export class StepWriter {
  readonly #cache = new TaskCache<TaskFacts>();
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The results in the order of the steps. An invalid step does not affect the others. */
  async write(
    steps: readonly CommitStep[],
    lane: Lane,
  ): Promise<readonly (CommitResult | Error)[]> {
    const results = new Map<CommitStep, CommitResult | Error>();
    try {
      await this.#writeAll(steps, lane, results);
    } catch (error) {
      for (const { taskId } of steps) this.#cache.drop(taskId);
      const open = steps.filter((step) => !results.has(step));
      if (open.length > 1 && isInvalidValue(error)) {
        for (const step of open) results.set(step, (await this.write([step], lane))[0]!);
      }
      const failure = isInvalidValue(error)
        ? new InvalidStepError((error as Error).message)
        : toFailure(error);
      for (const step of open) if (!results.has(step)) results.set(step, failure);
    }
    return steps.map((step) => results.get(step)!);
  }

  /** The end of a log as far as it is known here. */
  headOf(taskId: string): Seq | undefined {
    return this.#cache.get(taskId)?.head;
  }

  /** Forgets what was assumed about a task, because it was changed by other means. */
  forget(taskId: string): void {
    this.#cache.drop(taskId);
  }

  async #writeAll(
    steps: readonly CommitStep[],
    { connection, shard }: Lane,
    results: Map<CommitStep, CommitResult | Error>,
  ): Promise<void> {
    const known = new ReadFacts(this.#cache, connection, steps);
    let open = steps;
    for (let attempt = 0; open.length > 0; attempt += 1) {
      if (attempt === ATTEMPTS) throw new Error("other processes write to the same tasks");
      const unknown = open.filter((step) => known.mustRead(step));
      if (unknown.length > 0) await known.read(unknown);
      const plan = planSteps(open, known, this.#parts.replica());
      if (plan.unsure.size > 0) {
        await known.read([...plan.unsure]);
        continue;
      }
      const written = await this.#execute(plan, connection, shard);
      if (written === undefined) {
        for (const { taskId } of open) this.#cache.drop(taskId);
        await known.read(open);
        continue;
      }
      this.#settle(plan, written, results);
      const rest = open.filter((step) => !results.has(step));
      if (rest.length < open.length) attempt = 0;
      open = rest;
      if (open.length > 0) await known.read(open);
    }
  }

  /** The numbers of the tasks that were written; `undefined` if nothing was because of a race. */
  async #execute(
    { changes }: StepPlan,
    connection: Connection,
    shard: number,
  ): Promise<ReadonlyMap<TaskChange, number> | undefined> {
    if (changes.length === 0) return new Map();
    let rows: Rows;
    try {
      rows = (await connection.batch(toStatements(changes, shard))).flat();
    } catch (error) {
      if (isLostRace(error)) return undefined;
      throw error;
    }
    const byNumber = new Map(changes.map((change) => [change.before.n, change]));
    const byId = new Map(changes.map((change) => [change.taskId, change]));
    return new Map(
      (rows as readonly WrittenRow[]).map(([n, id]) => [
        (id === null ? byNumber.get(n) : byId.get(fromText(id)))!,
        n,
      ]),
    );
  }

  /** The results are final, except those of tasks to which nothing could be appended. */
  #settle(
    { changes, results: planned }: StepPlan,
    written: ReadonlyMap<TaskChange, number>,
    results: Map<CommitStep, CommitResult | Error>,
  ): void {
    const missed = new Set<string>();
    for (const change of changes) {
      const { taskId, after } = change;
      const n = written.get(change);
      if (n === undefined) {
        missed.add(taskId);
        this.#cache.drop(taskId);
      } else {
        this.#cache.keep(taskId, { ...after, n });
        this.#parts.onWritten(change);
      }
    }
    const ids = new Set(changes.map(({ taskId }) => taskId));
    for (const [step, result] of planned) {
      if (missed.has(step.taskId)) continue;
      results.set(step, result);
      const isCommitted = !(result instanceof Error) && result.kind === "committed";
      if (isCommitted && ids.has(step.taskId)) this.#parts.onCommitted(step.taskId, result.head);
    }
  }
}

/** What one batch has read, and otherwise the cache. */
class ReadFacts implements Knowledge {
  readonly #cache: TaskCache<TaskFacts>;
  readonly #connection: Connection;
  /** The owners and agents for whom the batch creates a task, of which one will succeed. */
  readonly #scopes = new Map<string, readonly IdScope[]>();
  readonly #fresh = new Set<CommitStep>();
  /** The tasks that were read: what the cache has may be forgotten while the rest is read. */
  readonly #tasks = new Map<string, TaskFacts>();
  readonly #taken = new Map<string, TakenMessage & { readonly entry: string | null }>();
  readonly #forgotten = new Set<string>();
  readonly #repeated = new Set<CommitStep>();

  constructor(cache: TaskCache<TaskFacts>, connection: Connection, steps: readonly CommitStep[]) {
    this.#cache = cache;
    this.#connection = connection;
    for (const { taskId, create } of steps) {
      const scope = scopeOf(create);
      if (scope !== undefined) this.#scopes.set(taskId, [...this.#scopesOf(taskId), scope]);
    }
  }

  task(taskId: string): TaskFacts | undefined {
    return this.#cache.get(taskId) ?? this.#tasks.get(taskId);
  }

  isFresh(step: CommitStep): boolean {
    return this.#fresh.has(step);
  }

  /** A new task is assumed not to exist; any other must be known. */
  mustRead(step: CommitStep): boolean {
    const isAssumed = step.create !== undefined || this.task(step.taskId) !== undefined;
    return !isAssumed && !this.#fresh.has(step);
  }

  taken(key: string, { mailbox = [] }: CommitStep): TakenMessage | undefined {
    const found = this.#taken.get(key);
    const isHandled = found?.entry !== null && found !== undefined && mailbox.includes(found.entry);
    return isHandled ? undefined : found;
  }

  isForgotten(task: NewTask): boolean {
    return this.#forgotten.has(contextKey(task));
  }

  hasEvents(step: CommitStep): boolean {
    return this.#repeated.has(step);
  }

  /** Reads everything on which the results of steps depend. */
  async read(steps: readonly CommitStep[]): Promise<void> {
    await this.#readTasks(steps);
    await Promise.all([
      this.#readMessages(steps),
      this.#readContexts(steps),
      this.#readEvents(steps),
    ]);
    for (const step of steps) this.#fresh.add(step);
  }

  async #readTasks(steps: readonly CommitStep[]): Promise<void> {
    const ids = [...new Set(steps.map(({ taskId }) => taskId))];
    const rows = await this.#connection.rows(FACTS, [ids.map(toText)]);
    for (const taskId of ids) {
      this.#cache.drop(taskId);
      this.#tasks.delete(taskId);
    }
    for (const row of rows as readonly FactsRow[]) {
      const facts = toFacts(row);
      this.#cache.keep(fromText(row[0]), facts);
      this.#tasks.set(fromText(row[0]), facts);
    }
  }

  async #readMessages(steps: readonly CommitStep[]): Promise<void> {
    const keys = steps.flatMap(({ taskId, create, message }) => {
      const scope = scopeOf(create) ?? this.task(taskId);
      const scopes = scope === undefined ? this.#scopesOf(taskId) : [scope];
      return message === undefined ? [] : scopes.map((one) => messageKey(one, message));
    });
    if (keys.length === 0) return;
    for (const key of keys) this.#taken.delete(key);
    const rows = await this.#connection.rows(MESSAGES, [keys]);
    for (const [key, taskId, digest, entry] of rows as readonly MessageRow[]) {
      const message = { taskId: fromText(taskId), digest: fromText(digest), entry };
      this.#taken.set(key.replaceAll("-", ""), message);
    }
  }

  #scopesOf(taskId: string): readonly IdScope[] {
    return this.#scopes.get(taskId) ?? [];
  }

  async #readContexts(steps: readonly CommitStep[]): Promise<void> {
    const tasks = steps.flatMap(({ create }) => (create?.unlessForgotten === true ? [create] : []));
    if (tasks.length === 0) return;
    for (const task of tasks) this.#forgotten.delete(contextKey(task));
    const owners = tasks.map(({ owner }) => toText(owner));
    const contexts = tasks.map(({ contextId }) => toText(contextId));
    const agents = tasks.map(({ agentId = "" }) => toText(agentId));
    const rows = await this.#connection.rows(FORGOTTEN, [owners, contexts, agents]);
    for (const [place] of rows) this.#forgotten.add(contextKey(tasks[Number(place) - 1]!));
  }

  /** Compares the events of steps that may have been written before with the log. */
  async #readEvents(steps: readonly CommitStep[]): Promise<void> {
    await Promise.all(
      steps.map(async (step) => {
        const { taskId, after, events, epoch } = step;
        this.#repeated.delete(step);
        const task = this.task(taskId);
        if (task === undefined || after === undefined || events.length === 0) return;
        if (after.head + events.length > task.head) return;
        const last = after.head + events.length;
        const rows = await this.#connection.rows(EVENTS, [task.n, after.head, last]);
        // Another process may have written the same events there, for example that a task was woken.
        const own = (rows as readonly SegmentRow[]).filter((row) => row[2] === epoch);
        if (hasEvents(own, after.head, events)) this.#repeated.add(step);
      }),
    );
  }
}

/** Whether segments contain exactly these events after a sequence. Compaction may have left gaps. */
function hasEvents(rows: readonly SegmentRow[], after: Seq, events: readonly string[]): boolean {
  const lines = new Map(
    rows.flatMap(([first, body]) =>
      unpackLines(body).map((line, index) => [first + index, line] as const),
    ),
  );
  return events.every((event, index) => lines.get(after + 1 + index) === event);
}

/** `LIMIT` keeps each lookup a lookup by the index. */
const FACTS = `
  SELECT t.task_id, t.n, t.owner, t.agent_id, t.epoch, t.state, t.status_at, t.listed, t.wake_at, t.run_by,
    coalesce((SELECT p.last FROM @.segment p WHERE p.task = t.n ORDER BY p.first DESC LIMIT 1), 0)
  FROM unnest($1::text[]) AS s(id)
  CROSS JOIN LATERAL (SELECT * FROM @.task WHERE task_id = s.id LIMIT 1) t`;

const MESSAGES = `
  SELECT m.key, m.task_id, m.digest, m.entry::text FROM unnest($1::uuid[]) AS s(key)
  CROSS JOIN LATERAL (SELECT * FROM @.message WHERE key = s.key LIMIT 1) m`;

/** The positions of contexts from which all listed tasks were removed. */
const FORGOTTEN = `
  SELECT s.place FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS s(owner, context, agent_id, place)
  WHERE (SELECT p.at FROM @.pruned_context p WHERE p.owner = s.owner AND p.context = s.context
      AND p.agent_id = s.agent_id) IS NOT NULL
    AND (SELECT t.n FROM @.task t WHERE t.owner = s.owner AND t.context = s.context AND t.listed
      AND coalesce(t.agent_id, '') = s.agent_id LIMIT 1) IS NULL`;

/** The segments that contain events after `$2`, up to `$3`. */
const EVENTS = `
  SELECT first, body, epoch FROM @.segment
  WHERE task = $1 AND first <= $3 AND first >= coalesce(
    (SELECT p.first FROM @.segment p WHERE p.task = $1 AND p.first <= $2 + 1 ORDER BY p.first DESC LIMIT 1), 0)
  ORDER BY first`;

/** A plain append returns no id. */
type WrittenRow = readonly [n: number, taskId: string | null];

type FactsRow = readonly [
  taskId: string,
  n: number,
  owner: string,
  agentId: string | null,
  epoch: number,
  state: number,
  statusAt: number,
  listed: boolean,
  wakeAt: number | null,
  runBy: number | null,
  head: Seq,
];

type MessageRow = readonly [key: string, taskId: string, digest: string, entry: string | null];

type SegmentRow = readonly [first: Seq, body: string, epoch: number];

function toFacts(row: FactsRow): TaskFacts {
  const [, n, owner, agentId, epoch, state, statusAt, listed, wakeAt, runBy, head] = row;
  const scope = { owner: fromText(owner), agentId: agentId === null ? null : fromText(agentId) };
  return { ...scope, n, epoch, state: stateAt(state), statusAt, listed, wakeAt, runBy, head };
}

/** Nothing was written: a task was not as assumed, or another transaction was there first. */
function isLostRace(error: unknown): boolean {
  return [NOT_AS_ASSUMED, "23505", "40P01", "40001"].includes(sqlState(error) ?? "");
}

/** Whether the values of a step cannot be stored: no integers, data exceptions and exceeded limits. */
function isInvalidValue(error: unknown): boolean {
  return error instanceof RangeError || /^(?:22|54)/.test(sqlState(error) ?? "");
}
