import type { Backend, CommitStep, TaskIndex, TaskQuery } from "@convoke/engine";
import { isObject } from "@convoke/protocol/internal";
import pg from "pg";
import { describe, expect, onTestFinished, vi } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { verifies } from "../../../../test/verifies.ts";
import { SETTINGS } from "./connection.ts";
import { openPostgresBackend } from "./postgres-backend.ts";
import { type ServerStores, openPostgresStores } from "./server-stores.ts";

const address = needsPostgres();

/**
 * Access paths whose cost does not depend on the number of stored tasks: by a complete key, or
 * along an index in its own order, up to a LIMIT or for no more rows than the result has.
 */
const CONSTANT: ReadonlySet<string> = new Set([
  "task by n=",
  "task by task_id=",
  "task by task_id>",
  "task by task_id<",
  "task by all of task_waking",
  "task by (wake_at, task_id)>",
  "task by status_at<",
  "task by owner= context= (created_at, task_id)<",
  "task by owner= state=",
  "task by owner= state= status_at<=",
  "task by owner= state= status_at>=",
  "task by owner= state= status_at>= status_at<=",
  "task by owner= state= (status_at, task_id)<",
  "task by owner= state= status_at<= (status_at, task_id)<",
  "task by owner= state= status_at>= (status_at, task_id)<",
  "task by owner= state= status_at>= status_at<= (status_at, task_id)<",
  "segment by task=",
  "segment by task= first>=",
  "segment by task= first<=",
  "segment by task= first<= first>=",
  "snapshot by task=",
  "message by key=",
  "message by task=",
  "message by entry=",
  "message by at<",
  "mailbox by task=",
  "mailbox by task= id=",
  "push by task_id=",
  "push by task_id= id=",
  "push by (task_id, id)>",
  "push by all of push_active",
  "push by all of push_dead",
  "counts by owner=",
  "counts by owner= state=",
  "counts by owner= agent_id=",
  "counts by owner= agent_id= state=",
  "pruned_context by owner= context= agent_id=",
  "pruned_context by at<",
  "task by run_by=",
  "task by run_by= host=",
  "task by host= wake_at<=",
  "replica by n=",
  "endpoint by key=",
  "endpoint by run_by=",
  "kv by collection= key=",
  // One row for each shard, and for each process.
  "ended_count by all rows",
  "replica by all rows",
  "replica by all of replica_pkey",
]);

describe("with a million stored tasks as with a thousand,", () => {
  verifies("G9", "no statement that writes scans the stored data", async () => {
    const { url, backend, stores, statements } = await observed();
    await writeAll(backend);
    await useStores(stores);

    expect(await growing(url, statements())).toEqual([
      // The endpoints of all active pushes.
      "push by all of push_endpoint",
      // Retention stops at the first task that may stay.
      "task by all of task_ended",
      // The unfinished tasks of local agents.
      "task by all of task_local",
      // Whether a context has a task left: the first one is enough.
      "task by owner= context=",
    ]);
  });

  verifies("G9", "no statement that reads does, except for what lists count and sort", async () => {
    const { url, backend, statements } = await observed();
    await readAll(backend);

    expect(await growing(url, statements())).toEqual([
      // The total of a list of one context, or since a time, among those that it counts.
      "count of task by owner= context=",
      "count of task by owner= state= status_at>=",
      // All values of a collection, which are the result.
      "kv by collection=",
      // A list of one context, among the tasks of that context.
      "task by owner= context=",
      "task by owner= context= created_at<=",
      // Tasks that changed since a time, which are the result.
      "task by owner= state= status_at>",
    ]);
  });
});

/** A backend, and the texts of all statements that it executes during the test. */
async function observed() {
  const url = await address();
  const backend = await openPostgresBackend({ url });
  const stores = await openPostgresStores({ url });
  const spy = vi.spyOn(pg.Client.prototype, "query");
  onTestFinished(async () => {
    spy.mockRestore();
    await stores.close();
    await backend.close();
  });
  const statements = (): readonly string[] => [
    ...new Set(
      spy.mock.calls.flatMap(([query]: readonly unknown[]) =>
        isObject(query) && typeof query["text"] === "string" ? [query["text"]] : [],
      ),
    ),
  ];
  return { url, backend, stores, statements };
}

/** Every kind of write: a creation, a change and an append, each also refused, and all others. */
async function writeAll(backend: Backend): Promise<void> {
  const { pushes, retention } = backend;
  const step = { taskId: "t", epoch: 1, events: ["{}"], listed: true, state: "working" } as const;
  const create = { owner: "ann", contextId: "c", agent: "greeter", createdAt: 1 };
  const message = { messageId: "m", digest: "d" };
  const steps: readonly CommitStep[] = [
    { ...step, statusAt: 1, create: { ...create, unlessForgotten: true }, message },
    { ...step, statusAt: 2 },
    { ...step, statusAt: 2 },
    { ...step, statusAt: 2, after: { head: 1, epoch: 1 } },
    { ...step, statusAt: 3, create: { ...create, unlessForgotten: true }, message },
    {
      ...step,
      statusAt: 4,
      message: { messageId: "o", digest: "d" },
      mailbox: ["1"],
      snapshot: { seq: 1, json: "{}" },
      push: { id: "p", config: "{}", cursor: 1 },
    },
    { ...step, taskId: "u", statusAt: 1, create },
    { ...step, taskId: "u", statusAt: 2, state: "completed" },
  ];
  for (const one of steps) await backend.commit(one);
  await pushes.put("t", { id: "p", config: "{}", cursor: 1 });
  const progress = { taskId: "t", id: "p", generation: 1, cursor: 1, failure: null };
  await pushes.progress({ ...progress, state: "done" });
  await pushes.delete("t", "p");
  await retention.prune({ endedBefore: 1, keep: 1, limit: 1 });
  await retention.forgetMessages(1, 1);
  await retention.forgetContexts(1, 1);
  await retention.compact("t", { seq: 1, json: "{}" });
  const { sharing } = backend;
  await sharing?.claim({ agentIds: ["a"], dueAt: 9, limit: 9 });
  await sharing?.claimTask("t");
  await sharing?.post("t", {
    kind: "message",
    json: "{}",
    message: { messageId: "n", digest: "d" },
  });
  await sharing?.post("t", {
    kind: "message",
    json: "{}",
    message: { messageId: "n", digest: "d" },
  });
  await sharing?.mailbox("t");
  await sharing?.release(["t"]);
  await sharing?.claimEndpoints(9);
  await sharing?.replicas();
  await sharing?.waitingForHosts(9);
  const values = sharing?.values("some");
  const version = await values?.put("k", "1", 0);
  await values?.put("k", "2");
  await values?.put("k", "3", version);
  await values?.delete("k");
}

/** What servers share in addition to their tasks. */
async function useStores({ rates, audit }: ServerStores): Promise<void> {
  await rates.draw("k", { limit: 9, windowMs: 9 }, 1);
  await rates.arrive("k", { limit: 9, windowMs: 9 });
  await audit.append({ event: "task.ended", json: "{}" });
}

async function readAll(backend: Backend): Promise<void> {
  const { tasks, pushes, retention } = backend;
  for (const read of Object.values(TASK_READS)) await read(tasks);
  await backend.read("t", 0, 9);
  await pushes.get("t", "p");
  await pushes.ofTask("t");
  for (const state of ["active", "dead"] as const) {
    for (const owner of [{}, { owner: "ann" }]) {
      await pushes.list({ state, limit: 9, ...owner });
      await pushes.list({ state, limit: 9, ...owner, after: { taskId: "t", id: "p" } });
    }
  }
  await retention.compactable(9, 9);
  await backend.sharing?.values("some").get("k");
  await backend.sharing?.values("some").list();
}

const OF_ANN = { owner: "ann", limit: 9 };

/** Each query of the index; a new one does not compile until it is added here. */
const TASK_READS: Readonly<Record<keyof TaskIndex, (tasks: TaskIndex) => Promise<unknown>>> = {
  get: (tasks) => tasks.get("t"),
  record: (tasks) => tasks.record("t"),
  list: (tasks) => Promise.all(lists().map((query) => tasks.list(query))),
  ofContext: (tasks) =>
    tasks.ofContext({ ...OF_ANN, contextId: "c", before: { createdAt: 9, taskId: "t" } }),
  changedSince: async (tasks) => {
    await tasks.changedSince({ owner: "ann", at: 5 });
    await tasks.changedSince({ owner: "ann", contextId: "c", at: 5 });
  },
  unfinished: (tasks) => tasks.unfinished("", 9),
  newest: async (tasks) => {
    await tasks.newest({ limit: 9 });
    await tasks.newest({ isUnfinished: true, limit: 9 });
  },
  waking: async (tasks) => {
    await tasks.waking(9);
    await tasks.waking(9, { wakeAt: 5, taskId: "t" });
  },
};

/**
 * A list with and without each filter, in every combination, with its first page and a later one.
 */
function lists(): readonly TaskQuery[] {
  const filters: readonly Partial<TaskQuery>[] = [
    { contextId: "c" },
    { state: "working" },
    { since: 1 },
    { until: 9 },
    { after: { statusAt: 5, taskId: "t" } },
  ];
  return filters.reduce<readonly TaskQuery[]>(
    (queries, filter) => queries.flatMap((query) => [query, { ...query, ...filter }]),
    [OF_ANN],
  );
}

/** The access paths whose cost depends on the number of rows, each once. */
async function growing(url: string, statements: readonly string[]): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(SETTINGS.join("; "));
  const ways: string[] = [];
  for (const [index, text] of statements.entries()) {
    const count = new Set(text.match(/\$\d+/g)).size;
    const values = count === 0 ? "" : `(${Array.from({ length: count }, () => "NULL").join()})`;
    await client.query(`PREPARE s${index} AS ${text}`);
    const plan = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE s${index}${values}`);
    // A count reads everything that it counts, on any path.
    const isCount = /(?:^|LATERAL \()\s*SELECT count\(/.test(text);
    ways.push(...waysIn(plan.rows).map((way) => (isCount ? `count of ${way}` : way)));
  }
  await client.end();
  expect(ways.length).toBeGreaterThan(20);
  return [...new Set(ways)].filter((way) => !CONSTANT.has(way)).toSorted();
}

/** How a plan accesses the rows of each table. */
function waysIn(plan: unknown): readonly string[] {
  if (Array.isArray(plan)) return plan.flatMap(waysIn);
  if (!isObject(plan)) return [];
  const inner = Object.values(plan).flatMap(waysIn);
  const type = String(plan["Node Type"]);
  if (!/(?:Seq|Index|Index Only|Bitmap Heap) Scan/.test(type)) return inner;
  const table = String(plan["Relation Name"]).replace(/_(?:rest|\d{4}_\d\d_\d\d)$/, "");
  return [...inner, `${table} by ${condition(plan)}`];
}

/** The columns of the index that the plan compares, such as `owner= state= status_at<`. */
function condition(plan: Readonly<Record<string, unknown>>): string {
  const text = plan["Index Cond"];
  if (plan["Node Type"] === "Seq Scan") return "all rows";
  if (typeof text !== "string") return `all of ${String(plan["Index Name"])}`;
  const compared = text.matchAll(/\((?:ROW\((.*?)\)|(\w+))(?: COLLATE "C")? ([<=>]+) /g);
  return Array.from(compared, ([, row, column, operator]) => {
    const columns = row === undefined ? column : `(${row.replaceAll(/ COLLATE "C"/g, "")})`;
    return `${columns}${operator}`;
  }).join(" ");
}
