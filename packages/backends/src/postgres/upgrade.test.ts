import { hash } from "node:crypto";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { startKeeperHere } from "./lease.ts";
import { noHints } from "./no-hints.suite.ts";
import { openWithParts } from "./postgres-backend.ts";
import { MIGRATIONS } from "./schema.ts";

// Databases of every version, filled as a program of that version did.

const address = needsPostgres();

/**
 * The released migrations. A changed digest means that databases of users differ from what their version
 * says: take the change back, and add a migration. A release adds the digests of its new migrations.
 */
const RELEASED = ["d46993091e356cd4"];

test("no released migration was edited", () => {
  const digests = MIGRATIONS.map((one) => hash("sha256", JSON.stringify(one), "hex").slice(0, 16));
  expect(digests.slice(0, RELEASED.length)).toEqual(RELEASED);
});

/** What a program of a version writes for a task that waits and for one that has ended. */
const ROWS: readonly { readonly since: number; readonly sql: string }[] = [
  {
    since: 1,
    sql: `
      INSERT INTO @.task (n, task_id, owner, context, agent, agent_id, epoch, state, status_at, created_at,
        listed, ended, wake_at)
      VALUES (7, 't1', 'ann', 'c1', 'greeter', 'greeter', 2, 2, 2000, 1000, true, false, 9000),
        (8, 't2', 'ann', 'c1', 'greeter', 'greeter', 1, 4, 5000, 4000, true, true, NULL);
      INSERT INTO @.segment (task, first, last, epoch, at, body)
      VALUES (7, 1, 2, 1, 1000, E'{"e":1}\\n{"e":2}'), (7, 3, 3, 2, 2000, '{"e":3}'),
        (8, 1, 1, 1, 5000, '{"e":1}');
      INSERT INTO @.snapshot (task, seq, json) VALUES (7, 2, '{"fold":2}');
      INSERT INTO @.message (key, task_id, digest, at, task)
      VALUES (left(encode(sha256(E'ann\\ngreeter\\nm1'), 'hex'), 32)::uuid, 't1', 'd1', 1000, 7);
      INSERT INTO @.push (task_id, id, config, endpoint, generation, cursor, state)
      VALUES ('t1', 'p1', '{"url":"https://example.com/"}', 'https://example.com/', 1, 3, 0);
      INSERT INTO @.counts (owner, agent_id, state, shard, tasks)
      VALUES ('ann', 'greeter', 2, 0, 1), ('ann', 'greeter', 4, 0, 1);
      INSERT INTO @.ended_count (shard, tasks) VALUES (0, 1);
      INSERT INTO @.pruned_context (owner, context, agent_id, at) VALUES ('ann', 'gone', '', 3000)`,
  },
];

const PARTS = { startKeeper: startKeeperHere, openBus: noHints };

test.each(MIGRATIONS.map((_, index) => index + 1))(
  "a database of version %i is opened with all of its tasks, messages, pushes and contexts",
  async (version) => {
    const url = await address();
    const older = { ...PARTS, migrations: MIGRATIONS.slice(0, version) };
    await (await openWithParts({ url }, older)).close();
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    onTestFinished(() => admin.end());
    const schema = new URL(url).searchParams.get("schema")!;
    for (const { since, sql } of ROWS) {
      if (version >= since) await admin.query(sql.replaceAll("@", schema));
    }

    const backend = await openWithParts({ url }, PARTS);
    onTestFinished(() => backend.close());

    const { records, total } = await backend.tasks.list({ owner: "ann", limit: 9 });
    expect(records.map(({ taskId, state }) => [taskId, state])).toEqual([
      ["t2", "completed"],
      ["t1", "input-required"],
    ]);
    expect(total).toBe(2);
    const log = await backend.read("t1", 0, 9);
    expect(log.map(({ json }) => json)).toEqual(['{"e":1}', '{"e":2}', '{"e":3}']);
    expect(await backend.tasks.get("t1")).toMatchObject({ snapshot: { seq: 2 }, head: 3 });
    expect(await backend.tasks.waking(9)).toHaveLength(1);
    expect(await backend.pushes.ofTask("t1")).toHaveLength(1);
    const step = { epoch: 2, events: ['{"e":4}'], state: "working", statusAt: 6000 } as const;
    const again = { taskId: "t1", ...step, listed: true };
    const repeated = { messageId: "m1", digest: "d1" };
    expect(await backend.commit({ ...again, message: repeated })).toMatchObject({
      kind: "duplicate",
    });
    expect(await backend.commit(again)).toEqual({ kind: "committed", head: 4 });
    const create = { owner: "ann", contextId: "gone", agent: "greeter", createdAt: 7000 };
    const opening = {
      taskId: "t3",
      create: { ...create, unlessForgotten: true },
      ...step,
    } as const;
    expect(await backend.commit({ ...opening, listed: true })).toEqual({ kind: "forgotten" });
  },
);
