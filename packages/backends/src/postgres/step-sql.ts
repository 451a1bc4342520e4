import { isTerminal } from "@convoke/protocol";
import { packLines } from "../storage/front-coding.ts";
import type { Statement } from "./connection.ts";
import { endpointIn } from "./push-store.ts";
import { stateNumber } from "./schema.ts";
import type { TaskChange } from "./step-plan.ts";
import { toText } from "./text.ts";

/**
 * The end of the stored log. The primary key of `segment` decides between two that append to it at
 * the same time.
 */
const HEAD =
  "coalesce((SELECT p.last FROM @.segment p WHERE p.task = s.n ORDER BY p.first DESC LIMIT 1), 0)";

/** When a commit is made. */
const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** Appends events to tasks that do not change otherwise. A task that is not as assumed is left out. */
const APPEND = `
  INSERT INTO @.segment (task, first, last, epoch, at, body)
  SELECT s.n, s.first, s.last, s.epoch, ${NOW}, s.body
  FROM json_to_recordset($1::json) AS s(n bigint, first int, last int, epoch bigint, body text)
  WHERE (SELECT t.epoch FROM @.task t WHERE t.n = s.n AND NOT t.ended) = s.epoch
    AND ${HEAD} = s.first - 1
  ON CONFLICT DO NOTHING
  RETURNING task, NULL, at`;

/** The columns of a row of `CREATE` and `CHANGE`. */
const COLUMNS = `
  id text, epoch bigint, state smallint, status_at bigint, listed boolean, ended boolean,
  sets_wake boolean, wake_at bigint, sets_run boolean, run_by int,
  first int, last int, body text, messages json, snapshot_seq int, snapshot text,
  pushes json, mailbox bigint[], counts json`;

/** Whether all messages of a task are new, or in mailbox entries that its steps handle. */
const HAS_NEW_MESSAGES = `
  (SELECT count(*) FROM json_to_recordset(s.messages) AS k(key uuid)
    WHERE (SELECT NOT coalesce(m.entry = ANY (s.mailbox), false) FROM @.message m WHERE m.key = k.key)) = 0`;

/**
 * Everything that changes together with a task; `done` has the rows of the tasks that were changed. If
 * that is not possible for all of them, the transaction fails: what was planned for a later step may
 * depend on an earlier one, for example on its message.
 */
const TOGETHER = `
  appended AS (
    INSERT INTO @.segment (task, first, last, epoch, at, body)
    SELECT n, first, last, epoch, ${NOW}, body FROM done WHERE body IS NOT NULL),
  accepted AS (
    INSERT INTO @.message (key, task_id, digest, at, task)
    SELECT m.key, done.id, m.digest, m.at, done.n
    FROM done CROSS JOIN LATERAL json_to_recordset(done.messages) AS m(key uuid, digest text, at bigint)
    WHERE (SELECT o.key FROM @.message o WHERE o.key = m.key) IS NULL
    ORDER BY m.key),
  handled AS (DELETE FROM @.mailbox b USING done WHERE b.task = done.n AND b.id = ANY (done.mailbox)),
  kept AS (UPDATE @.message m SET entry = NULL FROM done WHERE m.entry = ANY (done.mailbox)),
  snapped AS (
    INSERT INTO @.snapshot (task, seq, json)
    SELECT n, snapshot_seq, snapshot FROM done WHERE snapshot IS NOT NULL
    ON CONFLICT (task) DO UPDATE SET seq = excluded.seq, json = excluded.json
      WHERE excluded.seq > snapshot.seq),
  pushed AS (
    INSERT INTO @.push (task_id, id, config, endpoint, generation, cursor, state)
    SELECT done.id, p.id, p.config, p.endpoint, 1, p.cursor, 0
    FROM done CROSS JOIN LATERAL json_to_recordset(done.pushes)
      AS p(id text, config text, endpoint text, cursor int)
    ON CONFLICT (task_id, id) DO UPDATE SET generation = push.generation + 1,
      config = excluded.config, endpoint = excluded.endpoint, cursor = excluded.cursor, state = 0, failing_since = NULL, problem = NULL),
  counted AS (
    INSERT INTO @.counts (owner, agent_id, state, shard, tasks)
    SELECT c.owner, c.agent_id, c.state, $2, sum(c.change)
    FROM done CROSS JOIN LATERAL json_to_recordset(done.counts)
      AS c(owner text, agent_id text, state smallint, change int)
    GROUP BY c.owner, c.agent_id, c.state HAVING sum(c.change) <> 0
    ORDER BY c.owner, c.agent_id, c.state
    ON CONFLICT (owner, agent_id, state, shard) DO UPDATE SET tasks = counts.tasks + excluded.tasks),
  ended AS (
    INSERT INTO @.ended_count (shard, tasks)
    SELECT $2, count(*) FROM done WHERE done.ended HAVING count(*) > 0
    ON CONFLICT (shard) DO UPDATE SET tasks = ended_count.tasks + excluded.tasks)
  SELECT done.n, done.id FROM done CROSS JOIN (
    SELECT 1 / ((SELECT count(*) FROM done) = json_array_length($1::json))::int AS ok) guard
  WHERE guard.ok = 1`;

/** The SQLSTATE with which `CREATE` and `CHANGE` fail: `guard` divides by zero if a task was left out. */
export const NOT_AS_ASSUMED = "22012";

/**
 * Creates tasks: all, or none if one exists already or its message or context does not allow it. The
 * number of a task starts with the day, see `schema.ts`; 2^38 tasks fit after it.
 */
const CREATE = `
  WITH s AS MATERIALIZED (
    SELECT (floor(extract(epoch FROM now()) / 86400)::bigint << 38) + nextval('@.task_n') AS n, r.*
    FROM json_to_recordset($1::json) AS r(${COLUMNS}, owner text, context text, agent text,
      agent_id text, created_at bigint, unless_forgotten boolean, host text)),
  created AS (
    INSERT INTO @.task (n, task_id, owner, context, agent, agent_id, epoch, state, status_at, created_at,
      listed, ended, wake_at, run_by, host)
    SELECT n, id, owner, context, agent, agent_id, epoch, state, status_at, created_at,
      listed, ended, wake_at, run_by, host
    FROM s WHERE ${HAS_NEW_MESSAGES} AND NOT (s.unless_forgotten
      AND (SELECT p.at FROM @.pruned_context p WHERE p.owner = s.owner AND p.context = s.context
        AND p.agent_id = coalesce(s.agent_id, '')) IS NOT NULL
      AND (SELECT t.n FROM @.task t WHERE t.owner = s.owner AND t.context = s.context AND t.listed
        AND t.agent_id IS NOT DISTINCT FROM s.agent_id LIMIT 1) IS NULL)
    ON CONFLICT (task_id) DO NOTHING
    RETURNING n),
  done AS (SELECT s.* FROM s JOIN created ON created.n = s.n),
  ${TOGETHER}`;

/**
 * Changes tasks: all, or none if one is not as assumed. `IS NOT TRUE` keeps Postgres from walking the
 * index of all unfinished tasks.
 */
const CHANGE = `
  WITH r AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS r(n bigint, old_epoch bigint, old_state smallint,
      old_listed boolean, head int, ${COLUMNS})),
  s AS MATERIALIZED (SELECT * FROM r s WHERE ${HEAD} = s.head AND ${HAS_NEW_MESSAGES}),
  done AS (
    UPDATE @.task t SET epoch = s.epoch, state = s.state, status_at = s.status_at, listed = s.listed,
      ended = s.ended, wake_at = CASE WHEN s.sets_wake THEN s.wake_at ELSE t.wake_at END,
      run_by = CASE WHEN s.sets_run THEN s.run_by ELSE t.run_by END
    FROM s
    WHERE t.n = s.n AND t.epoch = s.old_epoch AND t.state = s.old_state AND t.listed = s.old_listed
      AND t.ended IS NOT TRUE
    RETURNING s.*),
  ${TOGETHER}`;

/**
 * Removes what was posted to tasks that have ended, and frees the ids of its messages. A statement of
 * its own, because the one that ends a task may have waited for a post, which it does not see.
 */
const CLEAR = `
  WITH ended AS MATERIALIZED (
    SELECT t.n FROM unnest($1::bigint[]) AS s(n)
    CROSS JOIN LATERAL (SELECT n FROM @.task WHERE n = s.n AND ended LIMIT 1) t),
  cleared AS (DELETE FROM @.mailbox b USING ended WHERE b.task = ended.n)
  DELETE FROM @.message m USING ended WHERE m.task = ended.n AND m.entry IS NOT NULL`;

/** The statements that write the changes of one batch. Each returns the tasks that it has written. */
export function toStatements(changes: readonly TaskChange[], shard: number): readonly Statement[] {
  const created = changes.filter(({ create }) => create !== undefined);
  const appended = changes.filter(({ isPlain }) => isPlain);
  const changed = changes.filter(({ create, isPlain }) => create === undefined && !isPlain);
  const ended = changed.flatMap(({ after }) => (isTerminal(after.state) ? [after.n] : []));
  return [
    ...(created.length > 0
      ? [{ text: CREATE, values: [toJson(created, creationRow), shard] }]
      : []),
    ...(changed.length > 0 ? [{ text: CHANGE, values: [toJson(changed, changeRow), shard] }] : []),
    ...(ended.length > 0 ? [{ text: CLEAR, values: [ended] }] : []),
    ...(appended.length > 0 ? [{ text: APPEND, values: [toJson(appended, appendRow)] }] : []),
  ];
}

function toJson(changes: readonly TaskChange[], row: (change: TaskChange) => object): string {
  return JSON.stringify(changes.map(row));
}

function appendRow({ before, after, events }: TaskChange): object {
  const place = { first: before.head + 1, last: after.head };
  return { n: after.n, ...place, epoch: after.epoch, body: packLines(events) };
}

function creationRow(change: TaskChange): object {
  const { owner, contextId, agent, agentId, createdAt, host = "" } = change.create!;
  return {
    ...row(change),
    wake_at: change.after.wakeAt,
    run_by: change.after.runBy,
    owner: toText(owner),
    context: toText(contextId),
    agent: toText(agent),
    agent_id: agentId === undefined ? null : toText(agentId),
    created_at: createdAt,
    unless_forgotten: change.mayBeForgotten,
    host,
  };
}

function changeRow(change: TaskChange): object {
  const { before, after, wakeAt, running } = change;
  const { n, epoch, state, listed, head } = before;
  const isEnd = isTerminal(after.state);
  return {
    ...row(change),
    n,
    old_epoch: epoch,
    old_state: stateNumber(state),
    old_listed: listed,
    head,
    sets_wake: isEnd || wakeAt !== undefined,
    wake_at: after.wakeAt,
    sets_run: isEnd || running !== undefined,
    run_by: after.runBy,
  };
}

/** The columns that creations and changes have in common. */
function row(change: TaskChange): object {
  const { taskId, before, after, events, messages, snapshot, pushes, mailbox } = change;
  return {
    id: toText(taskId),
    epoch: after.epoch,
    state: stateNumber(after.state),
    status_at: after.statusAt,
    listed: after.listed,
    ended: isTerminal(after.state),
    ...(events.length > 0 && {
      first: before.head + 1,
      last: after.head,
      body: packLines(events),
    }),
    messages: messages.map(({ key, digest, at }) => ({ key, digest: toText(digest), at })),
    ...(snapshot && { snapshot_seq: snapshot.seq, snapshot: snapshot.json }),
    pushes: pushes.map(({ id, config, cursor }) => ({
      id: toText(id),
      config,
      endpoint: endpointIn(config),
      cursor,
    })),
    mailbox,
    counts: counts(change),
  };
}

/** How the numbers of listed tasks change. */
function counts({ create, before, after }: TaskChange): readonly object[] {
  const counted = { owner: toText(after.owner), agent_id: toText(after.agentId ?? "") };
  return [
    ...(create === undefined && before.listed
      ? [{ ...counted, state: stateNumber(before.state), change: -1 }]
      : []),
    ...(after.listed ? [{ ...counted, state: stateNumber(after.state), change: 1 }] : []),
  ];
}
