import type {
  PruneQuery,
  RemoveQuery,
  RetentionStore,
  Seq,
  StoredErasure,
  StoredSnapshot,
  TaskRecord,
} from "@convoke/engine";
import type { KeyValueStore } from "@convoke/protocol";
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

/** Of the owner `$5`, or of all if it is null, except those of `$6`. */
const OF_OWNERS = "($5::text IS NULL OR t.owner = $5) AND t.owner <> ALL ($6::text[])";

/** Of the agent `$7`, or of all if it is null, except those of `$8`. */
const OF_AGENTS =
  "($7::text IS NULL OR t.agent_id = $7) AND coalesce(t.agent_id, '') <> ALL ($8::text[])";

/** Both criteria apply to the oldest tasks first: by their age, and by their rank among more than `$2`. */
const PRUNE = pruneSql("true", "0");

/** The same for those that ended at `$9` or later. */
const PRUNE_FROM = pruneSql(
  "t.status_at >= $9",
  "(SELECT count(*) FROM @.task t WHERE t.ended AND t.status_at < $9)",
);

/** @param skipped how many tasks do not fulfil the condition, and count for `$2` */
function pruneSql(condition: string, skipped: string): string {
  return `
  WITH lock AS MATERIALIZED (SELECT ${LOCK} AS is_held),
  surplus AS MATERIALIZED (
    SELECT greatest(0, (SELECT coalesce(sum(tasks), 0) FROM @.ended_count) - $2::bigint - ${skipped})::bigint AS tasks),
  old AS MATERIALIZED (
    SELECT status_at, n FROM (
      (SELECT t.status_at, t.n FROM @.task t
        WHERE t.ended AND t.status_at < $1 AND ${condition} AND ${OF_OWNERS} AND ${OF_AGENTS} AND ${NOT_PUSHED}
        ORDER BY t.status_at, t.n LIMIT $3)
      UNION
      (SELECT t.status_at, t.n FROM (SELECT status_at, n, task_id, owner, agent_id FROM @.task t
        WHERE ended AND ${condition} ORDER BY status_at, n LIMIT (SELECT tasks FROM surplus)) t
        WHERE ${OF_OWNERS} AND ${OF_AGENTS} AND ${NOT_PUSHED} ORDER BY t.status_at, t.n LIMIT $3)
    ) both_criteria ORDER BY status_at, n LIMIT $3),
  ${removal({ condition: "(SELECT is_held FROM lock)", shard: "$4" })}`;
}

/** Ended tasks by their ids. */
const REMOVE = removeSql(false);

/** The same, and the ids of their messages are freed. */
const REMOVE_ALL = removeSql(true);

function removeSql(freesMessages: boolean): string {
  return `
  WITH old AS MATERIALIZED (
    SELECT t.n FROM @.task t WHERE t.ended AND t.task_id = ANY ($1::text[])),
  ${removal({ condition: "true", shard: "$2::smallint", freesMessages })}`;
}

/**
 * Removes the tasks of `old`, and returns their ids. The log goes with the task; the ids of its
 * messages, unless they are freed, and of its context stay.
 */
function removal({
  condition,
  shard,
  freesMessages = false,
}: {
  readonly condition: string;
  readonly shard: string;
  readonly freesMessages?: boolean;
}): string {
  const messages = freesMessages
    ? "DELETE FROM @.message m USING removed WHERE m.task = removed.n"
    : "UPDATE @.message m SET task = NULL FROM removed WHERE m.task = removed.n";
  return `
  removed AS (
    DELETE FROM @.task t USING old WHERE t.n = old.n AND ${condition}
    RETURNING t.n, t.task_id, t.owner, t.context, coalesce(t.agent_id, '') AS agent_id, t.state,
      t.listed, t.status_at),
  segments AS (DELETE FROM @.segment s USING removed WHERE s.task = removed.n),
  snapshots AS (DELETE FROM @.snapshot s USING removed WHERE s.task = removed.n),
  entries AS (DELETE FROM @.mailbox b USING removed WHERE b.task = removed.n),
  pushes AS (DELETE FROM @.push p USING removed WHERE p.task_id = removed.task_id),
  messages AS (${messages}),
  counted AS (
    INSERT INTO @.counts (owner, agent_id, state, shard, tasks)
    SELECT owner, agent_id, state, ${shard}, -count(*) FROM removed WHERE listed
    GROUP BY owner, agent_id, state ORDER BY owner, agent_id, state
    ON CONFLICT (owner, agent_id, state, shard) DO UPDATE SET tasks = counts.tasks + excluded.tasks),
  ended AS (
    INSERT INTO @.ended_count (shard, tasks) SELECT ${shard}, -count(*) FROM removed HAVING count(*) > 0
    ON CONFLICT (shard) DO UPDATE SET tasks = ended_count.tasks + excluded.tasks),
  contexts AS (
    INSERT INTO @.pruned_context (owner, context, agent_id, at)
    SELECT owner, context, agent_id, max(status_at) FROM removed WHERE listed
    GROUP BY owner, context, agent_id ORDER BY owner, context, agent_id
    ON CONFLICT (owner, context, agent_id) DO UPDATE SET at = greatest(pruned_context.at, excluded.at))
  SELECT task_id FROM removed`;
}

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

/**
 * Counts of several shards are together those of an owner, and others may change them meanwhile: so they
 * are locked, and removed if they are nothing together. Ids of messages are hashes, which name no owner.
 */
const FORGET_OWNER = `
  WITH own AS MATERIALIZED (
    SELECT agent_id, state, shard, tasks FROM @.counts WHERE owner = $1
    ORDER BY agent_id, state, shard FOR UPDATE),
  empty AS (SELECT agent_id, state FROM own GROUP BY agent_id, state HAVING sum(tasks) = 0),
  contexts AS (DELETE FROM @.pruned_context WHERE owner = $1)
  DELETE FROM @.counts c USING own JOIN empty USING (agent_id, state)
  WHERE c.owner = $1 AND c.agent_id = own.agent_id AND c.state = own.state AND c.shard = own.shard`;

/** The URLs of removed pushes, to which a process delivered or, if it was killed, had claimed to. */
const FORGET_ENDPOINTS = `
  DELETE FROM @.endpoint e
  WHERE (SELECT p.id FROM @.push p WHERE p.endpoint = e.key AND p.state = 0 LIMIT 1) IS NULL`;

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
  /** Erasures that have begun. */
  readonly erasures: KeyValueStore;
}

/** Removes tasks and compacts logs, between the commits of this process. */
export class PostgresRetentionStore implements RetentionStore {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  prune(query: PruneQuery): Promise<readonly string[]> {
    const { endedBefore, keep, limit, owner, exceptOwners = [] } = query;
    const { writes, steps, partitions, shard } = this.#parts;
    const { agentId, exceptAgents = [], endedFrom } = query;
    const whose = [owner === undefined ? null : toText(owner), exceptOwners.map(toText)];
    const which = [agentId === undefined ? null : toText(agentId), exceptAgents.map(toText)];
    const values = [toBigint(endedBefore), toBigint(keep), limit, shard(), ...whose, ...which];
    return writes.write(async (connection) => {
      const removed =
        endedFrom === undefined
          ? await connection.rows(PRUNE, values)
          : await connection.rows(PRUNE_FROM, [...values, toBigint(endedFrom)]);
      const taskIds = removed.map(([taskId]) => fromText(taskId as string));
      for (const taskId of taskIds) steps.forget(taskId);
      await partitions.tendIfDue();
      return taskIds;
    });
  }

  remove({ taskIds, freesMessages = false }: RemoveQuery): Promise<readonly string[]> {
    const { writes, steps, shard } = this.#parts;
    const values = [taskIds.map(toText), shard()];
    return writes.write(async (connection) => {
      const rows = await connection.rows(freesMessages ? REMOVE_ALL : REMOVE, values);
      const removed = rows.map(([taskId]) => fromText(taskId as string));
      for (const taskId of removed) steps.forget(taskId);
      return removed;
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

  async forgetOwner(owner: string): Promise<void> {
    await this.#parts.writes.write((connection) => connection.rows(FORGET_OWNER, [toText(owner)]));
  }

  async erasures(): Promise<readonly StoredErasure[]> {
    const values = await this.#parts.erasures.list();
    return values.map(({ key, value }) => ({ id: key, json: value }));
  }

  async putErasure(id: string, json: string | null): Promise<boolean> {
    const { erasures } = this.#parts;
    if (json === null) return erasures.delete(id);
    const stored = await erasures.get(id);
    await erasures.put(id, json);
    return stored !== undefined;
  }

  /** The files are those of the database server, whose vacuum reuses the space. */
  async purge(): Promise<void> {
    await this.#parts.writes.write((connection) => connection.rows(FORGET_ENDPOINTS));
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
