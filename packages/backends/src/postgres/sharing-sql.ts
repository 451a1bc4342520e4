import { RECORD } from "./task-sql.ts";

/** `task.run_by` of a task that its process gave up. */
export const RELEASED = 0;

/*
 * Claims compare leases with now(), the time at which their transaction began, and not with
 * clock_timestamp(). A statement sees the rows as they were when it began: if it is paused after that,
 * a lease that was renewed meanwhile would seem to have ended.
 */

/** Whether there were entries in the mailbox of a task when it was claimed. */
const HAS_MAIL = "(SELECT b.id FROM @.mailbox b WHERE b.task = t.n LIMIT 1) IS NOT NULL";

/**
 * Tasks of processes that are gone or gave them up, by the index of what runs, and then waiting ones
 * that are due. `$5`: whether this process may take over from others. `$6`: tasks that it does not
 * work on, and takes over from itself. `$7`: the host of this process. Each host is a range of its own in
 * the indexes.
 */
export const CLAIM = `
  WITH gone AS MATERIALIZED (
    SELECT ${RELEASED} AS n UNION ALL
    SELECT $1 WHERE cardinality($6::text[]) > 0 UNION ALL
    SELECT n FROM @.replica WHERE $5 AND until <= now() AND n <> $1),
  place AS MATERIALIZED (SELECT '' AS host UNION ALL SELECT $7),
  wanted AS MATERIALIZED (
    SELECT p.n, gone.n AS run_by FROM gone CROSS JOIN place CROSS JOIN LATERAL (
      SELECT t.n FROM @.task t WHERE t.run_by = gone.n AND t.host = place.host
        AND coalesce(t.agent_id, '') = ANY ($2::text[]) AND (gone.n <> $1 OR t.task_id = ANY ($6))
      ORDER BY t.n LIMIT $4 FOR UPDATE SKIP LOCKED) p
    LIMIT $4),
  due AS MATERIALIZED (
    SELECT p.n FROM place CROSS JOIN LATERAL (
      SELECT t.n FROM @.task t WHERE t.host = place.host
        AND t.wake_at <= $3 AND t.run_by IS NULL AND coalesce(t.agent_id, '') = ANY ($2::text[])
      ORDER BY t.wake_at, t.task_id LIMIT $4 - (SELECT count(*) FROM wanted) FOR UPDATE SKIP LOCKED) p
    LIMIT $4 - (SELECT count(*) FROM wanted))
  UPDATE @.task t SET run_by = $1, epoch = t.epoch + 1
  FROM (SELECT n, run_by FROM wanted UNION ALL SELECT n, NULL FROM due) c
  WHERE t.n = c.n RETURNING ${RECORD}, c.run_by, ${HAS_MAIL}`;

/** `$4`: the host of this process, or null to claim the task wherever it has to run. */
export const CLAIM_TASK = `
  WITH wanted AS MATERIALIZED (
    SELECT t.n, t.run_by FROM @.task t
    WHERE t.task_id = $2 AND NOT t.ended AND ($4::text IS NULL OR t.host IN ('', $4)) AND (t.run_by IS NULL OR t.run_by IN (${RELEASED}, $1)
      OR ($3 AND coalesce((SELECT r.until <= now() FROM @.replica r WHERE r.n = t.run_by), true)))
    FOR UPDATE)
  UPDATE @.task t SET run_by = $1, epoch = t.epoch + 1 FROM wanted c
  WHERE t.n = c.n RETURNING ${RECORD}, c.run_by, ${HAS_MAIL}`;

export const RELEASE = `
  WITH released AS MATERIALIZED (
    SELECT t.n FROM unnest($2::text[]) AS s(id)
    CROSS JOIN LATERAL (SELECT n FROM @.task WHERE task_id = s.id AND run_by = $1 LIMIT 1) t)
  UPDATE @.task t SET run_by = ${RELEASED} FROM released WHERE t.n = released.n`;

/**
 * Gives up everything that a process has. The process itself stays in the list until its tasks are
 * claimed: one that it claimed at the last moment must not belong to nobody.
 */
export const LEAVE = `
  WITH tasks AS (UPDATE @.task SET run_by = ${RELEASED} WHERE run_by = $1),
  endpoints AS (DELETE FROM @.endpoint WHERE run_by = $1)
  UPDATE @.replica SET until = clock_timestamp() WHERE n = $1`;

/**
 * Stores an entry together with the id of its message. The lock on the task makes a step that ends
 * it wait, so that the entry is removed with the task and not left behind.
 */
export const POST = `
  WITH task AS MATERIALIZED (
    SELECT t.n, t.run_by, substr(encode(sha256(convert_to(t.owner || E'\\n' || coalesce(t.agent_id, '') || E'\\n' || $4, 'UTF8')), 'hex'), 1, 32)::uuid AS key
    FROM @.task t WHERE t.task_id = $1 AND NOT t.ended FOR SHARE),
  posted AS (
    INSERT INTO @.mailbox (task, kind, json, message_id, digest)
    SELECT task.n, $2, $3, $4, $5 FROM task
    WHERE task.key IS NULL OR (SELECT m.key FROM @.message m WHERE m.key = task.key) IS NULL
    RETURNING id),
  accepted AS (
    INSERT INTO @.message (key, task_id, digest, at, task, entry)
    SELECT task.key, $1, $5, $6, task.n, posted.id FROM task CROSS JOIN posted WHERE task.key IS NOT NULL)
  SELECT posted.id::text, task.run_by FROM task CROSS JOIN posted`;

export const WHY_NOT_POSTED = `
  SELECT t.state, t.ended, m.task_id, m.digest FROM (
    SELECT t.state, t.ended, substr(encode(sha256(convert_to(t.owner || E'\\n' || coalesce(t.agent_id, '') || E'\\n' || $2, 'UTF8')), 'hex'), 1, 32)::uuid AS key
    FROM @.task t WHERE t.task_id = $1) t
  LEFT JOIN @.message m ON m.key = t.key`;

export const MAILBOX = `
  SELECT b.id::text, b.kind, b.json, b.message_id, b.digest FROM @.mailbox b
  WHERE b.task = (SELECT t.n FROM @.task t WHERE t.task_id = $1) ORDER BY b.id`;

/** Starts from the mailbox, which is nearly empty. */
export const MAILBOX_OF = `
  SELECT t.task_id, count(*) FROM @.mailbox b
  CROSS JOIN LATERAL (SELECT task_id FROM @.task WHERE n = b.task AND run_by = $1 LIMIT 1) t
  GROUP BY t.task_id`;

/** The tasks that a process works on, as the database has recorded. */
export const OWN = "SELECT t.task_id FROM @.task t WHERE t.run_by = $1 ORDER BY t.n";

/**
 * Which of these tasks another process works on, or have a shorter log than this process knows: a
 * failover to a standby that was behind loses the end.
 */
export const LOST = `
  SELECT s.id FROM unnest($2::text[], $3::int[]) AS s(id, head)
  WHERE (SELECT t.run_by FROM @.task t WHERE t.task_id = s.id) IS DISTINCT FROM $1
    OR (SELECT p.last FROM @.segment p WHERE p.task = (SELECT t.n FROM @.task t WHERE t.task_id = s.id)
      ORDER BY p.first DESC LIMIT 1) < s.head`;

/** Takes endpoints of active pushes that no living process has, up to a number in total. */
export const CLAIM_ENDPOINTS = `
  WITH wanted AS MATERIALIZED (
    SELECT a.endpoint FROM (SELECT DISTINCT endpoint FROM @.push WHERE state = 0) a
    WHERE coalesce((SELECT e.run_by = $1
        OR coalesce((SELECT r.until <= now() FROM @.replica r WHERE r.n = e.run_by), true)
      FROM @.endpoint e WHERE e.key = a.endpoint), true)
    ORDER BY coalesce((SELECT e.run_by = $1 FROM @.endpoint e WHERE e.key = a.endpoint), false) DESC, a.endpoint
    LIMIT $2),
  left_over AS (
    DELETE FROM @.endpoint WHERE run_by = $1 AND key <> ALL (ARRAY(SELECT endpoint FROM wanted)))
  INSERT INTO @.endpoint (key, run_by) SELECT endpoint, $1 FROM wanted ORDER BY endpoint
  ON CONFLICT (key) DO UPDATE SET run_by = excluded.run_by WHERE endpoint.run_by = $1
    OR coalesce((SELECT r.until <= now() FROM @.replica r WHERE r.n = endpoint.run_by), true)
  RETURNING key`;

export const REPLICAS = `
  SELECT r.n, r.host, r.software, (extract(epoch FROM r.started_at) * 1000)::bigint,
    (extract(epoch FROM r.until - clock_timestamp()) * 1000)::bigint,
    (SELECT count(*) FROM @.task t WHERE t.run_by = r.n)
  FROM @.replica r ORDER BY r.n`;

/** `$1`: a waiting task is due at this time. */
export const WAITING_FOR_HOSTS = `
  SELECT t.host, count(*) FROM @.task t
  WHERE t.host <> '' AND NOT t.ended AND (t.run_by IS NOT NULL OR t.wake_at <= $1)
    AND t.host <> ALL (ARRAY(SELECT r.host FROM @.replica r WHERE r.until > clock_timestamp()))
  GROUP BY t.host ORDER BY t.host`;
