import type { Backend } from "@convoke/engine";
import pg from "pg";

export const OWNER = "ann";
export const AGENT = "greeter";

/** The ids of stored tasks; the first one is the model of all others. */
export function taskIdAt(place: number): string {
  return `01a1dd92-3a70-7000-8000-${place.toString(16).padStart(12, "0")}`;
}

/**
 * Fills an empty database with ended tasks, a millisecond apart. One is committed as a server does it,
 * and its rows are copied by the database. Resolves to the size of all tables and indexes.
 */
export async function fill(backend: Backend, url: string, tasks: number): Promise<number> {
  await commitModel(backend);
  const schema = new URL(url).searchParams.get("schema")!;
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    await admin.query(`SET search_path = ${schema}`);
    await admin.query(COPIES.replaceAll("$tasks", String(tasks)));
    await admin.query("ANALYZE");
    const { rows } = await admin.query<{ readonly bytes: string }>(
      `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c
       WHERE c.relnamespace = '${schema}'::regnamespace AND c.relkind = 'r'`,
    );
    return Number(rows[0]!.bytes);
  } finally {
    await admin.end();
  }
}

async function commitModel(backend: Backend): Promise<void> {
  const taskId = taskIdAt(0);
  const ids = { taskId, contextId: taskId };
  const step = { taskId, epoch: 1, listed: true };
  const asked = {
    kind: "message",
    messageId: "m",
    role: "user",
    parts: [{ kind: "text", text: "Hi" }],
  };
  const parts = [{ kind: "text", text: "Hello, and what can I do for you today?" }];
  const update = (state: string, final: boolean): string =>
    JSON.stringify({ kind: "status-update", ...ids, status: { state }, final });
  await backend.commit({
    ...step,
    events: [
      JSON.stringify({
        kind: "task",
        id: taskId,
        contextId: taskId,
        status: { state: "submitted" },
        history: [asked],
      }),
      update("working", false),
    ],
    state: "working",
    statusAt: 1,
    create: { owner: OWNER, contextId: taskId, agent: AGENT, agentId: AGENT, createdAt: 1 },
    message: { messageId: "m", digest: "d".repeat(43) },
    running: true,
  });
  await backend.commit({
    ...step,
    events: [
      JSON.stringify({ kind: "artifact-update", ...ids, artifact: { artifactId: "a", parts } }),
      update("completed", true),
    ],
    state: "completed",
    statusAt: 2,
  });
}

/** In the order of their creation, as rows of a server are. */
const COPIES = `
  CREATE TEMP TABLE copy AS
    SELECT i, m.n + i AS n, '01a1dd92-3a70-7000-8000-' || lpad(to_hex(i), 12, '0') AS id
    FROM task m, generate_series(1, $tasks - 1) AS i;
  INSERT INTO task (n, task_id, owner, context, agent, agent_id, epoch, state, status_at, created_at, listed, ended)
    SELECT c.n, c.id, m.owner, c.id, m.agent, m.agent_id, m.epoch, m.state, c.i, c.i, m.listed, m.ended
    FROM copy c, task m WHERE m.created_at = 1 AND m.n = (SELECT min(n) FROM task) ORDER BY c.i;
  INSERT INTO segment (task, first, last, epoch, at, body)
    SELECT c.n, m.first, m.last, m.epoch, m.at, m.body FROM copy c, segment m ORDER BY c.i, m.first;
  INSERT INTO message (key, task_id, digest, at, task)
    SELECT gen_random_uuid(), c.id, m.digest, c.i, c.n FROM copy c, message m ORDER BY c.i;
  UPDATE counts SET tasks = $tasks WHERE tasks > 0;
  UPDATE ended_count SET tasks = $tasks;
  SELECT setval('task_n', $tasks + 1);
  DROP TABLE copy`;
