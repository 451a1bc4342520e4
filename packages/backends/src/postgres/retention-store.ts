import type { PruneQuery, RetentionStore, Seq, StoredSnapshot, TaskRecord } from "@convoke/engine";
import { unpackLines } from "../storage/front-coding.ts";
import type { Partitions } from "./partitions.ts";
import type { Reader } from "./reader.ts";
import type { StepWriter } from "./step-writer.ts";
import { COMPACTABLE, toRecords } from "./task-sql.ts";
import { fromText, toText } from "./text.ts";
import type { WriteQueue } from "./write-queue.ts";

/** One replica at a time removes something; the others find nothing to do and try again later. */
const LOCK = "pg_try_advisory_xact_lock(hashtext('convoke.retention'), hashtext('@.'))";

/** Tasks with an active push are never removed. */
const NOT_PUSHED =
  "(SELECT p.id FROM @.push p WHERE p.task_id = t.task_id AND p.state = 0 LIMIT 1) IS NULL";

/**
 * Both criteria apply to the oldest tasks first: by their age, and by their rank among more than
 * `$2`. The log goes with the task; the ids of its messages and of its context stay.
 */
const PRUNE = `
  WITH lock AS MATERIALIZED (SELECT ${LOCK} AS is_held),
  surplus AS MATERIALIZED (
    SELECT greatest(0, (SELECT coalesce(sum(tasks), 0) FROM @.ended_count) - $2::bigint)::bigint AS tasks),
  old AS MATERIALIZED (
    SELECT status_at, n FROM (
      (SELECT t.status_at, t.n FROM @.task t WHERE t.ended AND t.status_at < $1 AND ${NOT_PUSHED}
        ORDER BY t.status_at, t.n LIMIT $3)
      UNION
      (SELECT t.status_at, t.n FROM (SELECT status_at, n, task_id FROM @.task
        WHERE ended ORDER BY status_at, n LIMIT (SELECT tasks FROM surplus)) t
        WHERE ${NOT_PUSHED} ORDER BY t.status_at, t.n LIMIT $3)
    ) both_criteria ORDER BY status_at, n LIMIT $3),
  removed AS (
    DELETE FROM @.task t USING old WHERE t.n = old.n AND (SELECT is_held FROM lock)
    RETURNING t.n, t.task_id, t.owner, t.context, coalesce(t.agent_id, '') AS agent_id, t.state,
      t.listed, t.status_at),
  segments AS (DELETE FROM @.segment s USING removed WHERE s.task = removed.n),
  snapshots AS (DELETE FROM @.snapshot s USING removed WHERE s.task = removed.n),
  entries AS (DELETE FROM @.mailbox b USING removed WHERE b.task = removed.n),
  pushes AS (DELETE FROM @.push p USING removed WHERE p.task_id = removed.task_id),
  messages AS (UPDATE @.message m SET task = NULL FROM removed WHERE m.task = removed.n),
  counted AS (
    INSERT INTO @.counts (owner, agent_id, state, shard, tasks)
    SELECT owner, agent_id, state, $4, -count(*) FROM removed WHERE listed
    GROUP BY owner, agent_id, state ORDER BY owner, agent_id, state
    ON CONFLICT (owner, agent_id, state, shard) DO UPDATE SET tasks = counts.tasks + excluded.tasks),
  ended AS (
    INSERT INTO @.ended_count (shard, tasks) SELECT $4, -count(*) FROM removed HAVING count(*) > 0
    ON CONFLICT (shard) DO UPDATE SET tasks = ended_count.tasks + excluded.tasks),
  contexts AS (
    INSERT INTO @.pruned_context (owner, context, agent_id, at)
    SELECT owner, context, agent_id, max(status_at) FROM removed WHERE listed
    GROUP BY owner, context, agent_id ORDER BY owner, context, agent_id
    ON CONFLICT (owner, context, agent_id) DO UPDATE SET at = greatest(pruned_context.at, excluded.at))
  SELECT task_id FROM removed`;

const FORGET_MESSAGES = `
  WITH old AS MATERIALIZED (
    SELECT key FROM @.message WHERE task IS NULL AND at < $1 ORDER BY at LIMIT $2)
  DELETE FROM @.message m USING old WHERE m.key = old.key RETURNING 1`;

const FORGET_CONTEXTS = `
  WITH old AS MATERIALIZED (
    SELECT owner, context, agent_id FROM @.pruned_context WHERE at < $1 ORDER BY at LIMIT $2)
  DELETE FROM @.pruned_context c USING old
  WHERE c.owner = old.owner AND c.context = old.context AND c.agent_id = old.agent_id
  RETURNING 1`;

const SEGMENTS = `
  SELECT s.first, s.at, s.epoch, s.body FROM @.segment s
  WHERE s.task = (SELECT t.n FROM @.task t WHERE t.task_id = $1) ORDER BY s.first`;

/** Replaces the segments of a log with one for each event that is kept. */
const COMPACT = `
  WITH whole AS MATERIALIZED (
    SELECT t.n FROM @.task t
    WHERE t.task_id = $1 AND t.ended
      AND (SELECT p.id FROM @.push p WHERE p.task_id = t.task_id AND p.state <> 1 LIMIT 1) IS NULL
      AND coalesce((SELECT p.last FROM @.segment p WHERE p.task = t.n ORDER BY p.first DESC LIMIT 1), 0) = $2
    FOR UPDATE),
  kept AS MATERIALIZED (SELECT * FROM json_to_recordset($4::json) AS k(seq int, at bigint, epoch bigint, body text)),
  dropped AS (
    DELETE FROM @.segment s USING whole
    WHERE s.task = whole.n AND s.first <> ALL (ARRAY(SELECT seq FROM kept))),
  rewritten AS (
    INSERT INTO @.segment (task, first, last, epoch, at, body)
    SELECT whole.n, kept.seq, kept.seq, kept.epoch, kept.at, kept.body FROM whole CROSS JOIN kept
    ON CONFLICT (task, first) DO UPDATE SET last = excluded.last, body = excluded.body),
  snapped AS (
    INSERT INTO @.snapshot (task, seq, json) SELECT n, $2, $3 FROM whole
    ON CONFLICT (task) DO UPDATE SET seq = excluded.seq, json = excluded.json)
  UPDATE @.task t SET compacted = true FROM whole WHERE t.n = whole.n RETURNING t.n`;

interface Parts {
  readonly reader: Reader;
  readonly writes: WriteQueue;
  readonly steps: StepWriter;
  readonly partitions: Partitions;
  readonly shard: () => number;
}

/** Removes tasks and compacts logs, between the commits of this process. */
export class PostgresRetentionStore implements RetentionStore {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  prune({ endedBefore, keep, limit }: PruneQuery): Promise<number> {
    const { writes, steps, partitions, shard } = this.#parts;
    const values = [toBigint(endedBefore), toBigint(keep), limit, shard()];
    return writes.write(async (connection) => {
      const removed = await connection.rows(PRUNE, values);
      for (const [taskId] of removed) steps.forget(fromText(taskId as string));
      await partitions.tendIfDue();
      return removed.length;
    });
  }

  forgetMessages(acceptedBefore: number, limit: number): Promise<number> {
    return this.#delete(FORGET_MESSAGES, acceptedBefore, limit);
  }

  forgetContexts(endedBefore: number, limit: number): Promise<number> {
    return this.#delete(FORGET_CONTEXTS, endedBefore, limit);
  }

  async compactable(endedBefore: number, limit: number): Promise<readonly TaskRecord[]> {
    return toRecords(await this.#parts.reader.rows(COMPACTABLE, [toBigint(endedBefore), limit]));
  }

  compact(
    taskId: string,
    { seq, json }: StoredSnapshot,
    keep: readonly Seq[] = [],
  ): Promise<boolean> {
    const seqs = new Set(keep).add(seq);
    return this.#parts.writes.write(async (connection) => {
      const segments = await connection.rows(SEGMENTS, [toText(taskId)]);
      const kept = (segments as readonly SegmentRow[]).flatMap(([first, at, epoch, body]) =>
        unpackLines(body).flatMap((line, index) =>
          seqs.has(first + index) ? [{ seq: first + index, at, epoch, body: line }] : [],
        ),
      );
      const values = [toText(taskId), seq, json, JSON.stringify(kept)];
      return (await connection.rows(COMPACT, values)).length > 0;
    }, taskId);
  }

  /** Autovacuum and dropped partitions return space by themselves. */
  async reclaim(): Promise<boolean> {
    return this.#parts.writes.write(async () => false);
  }

  #delete(text: string, before: number, limit: number): Promise<number> {
    const values = [toBigint(before), limit];
    return this.#parts.writes.write(
      async (connection) => (await connection.rows(text, values)).length,
    );
  }
}

type SegmentRow = readonly [first: Seq, at: number, epoch: number, body: string];

/** A time or a number that may be infinite. */
function toBigint(value: number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value));
}
