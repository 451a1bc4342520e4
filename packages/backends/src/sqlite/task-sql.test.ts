import { DatabaseSync } from "node:sqlite";
import type { TaskQuery } from "@convoke/engine";
import { expect, test } from "vitest";
import { FORGET_CONTEXTS, FORGOTTEN, FORGOTTEN_BY_AGENT } from "./id-writers.ts";
import { migrate } from "./schema.ts";
import { OLDEST_ENDED } from "./batch-writer.ts";
import {
  COMPACTABLE,
  GET,
  UNFINISHED,
  WAKING,
  changedSql,
  contextSql,
  countSql,
  pageSql,
} from "./task-sql.ts";

const query = { owner: "ann", limit: 10 };
const after = { statusAt: 5, taskId: "t" };

const ofContext = { ...query, contextId: "c", before: { createdAt: 5, taskId: "t" } };

const POINTS = {
  GET,
  OF_CONTEXT: contextSql(ofContext),
  OF_CONTEXT_AND_AGENT: contextSql({ ...ofContext, agentId: "a" }),
  UNFINISHED,
  COMPACTABLE,
  OLDEST_ENDED,
};
const LISTS: Readonly<Record<string, TaskQuery>> = {
  everything: query,
  "a later page": { ...query, after },
  "one state": { ...query, state: "input-required" },
  "one state, a later page, since a time": { ...query, state: "working", since: 3, after },
  "everything until a time": { ...query, until: 9 },
  "one state, a later page, until a time": { ...query, state: "working", until: 9, after },
  "one context until a time": { ...query, contextId: "c", until: 9, after },
  "one context": { ...query, contextId: "c" },
  "one agent": { ...query, agentId: "a" },
  "one agent, a later page, until a time": { ...query, agentId: "a", until: 9, after },
  "one agent since a time": { ...query, agentId: "a", since: 3 },
  "one agent and state": { ...query, agentId: "a", state: "working", after },
  "one agent and context": { ...query, agentId: "a", contextId: "c" },
  "one context and state": { ...query, contextId: "c", state: "working", since: 3, after },
};

test.each(Object.entries(POINTS))("%s is answered from an index, without sorting", (_, sql) => {
  const plan = explain(sql);

  expect(plan).not.toMatch(/SCAN tasks/);
  expect(plan).not.toMatch(/TEMP B-TREE/);
});

test("tasks with a wakeAt are read from an index of only those, without sorting", () => {
  const plan = explain(WAKING);

  expect(plan).toMatch(/^(SCAN|SEARCH) tasks USING INDEX tasks_waking/);
  expect(plan).not.toMatch(/TEMP B-TREE/);
});

test.each(Object.entries(LISTS))("the list of %s never scans the tasks", (_, list) => {
  expect(explain(pageSql(list))).not.toMatch(/SCAN tasks/);
  expect(explain(countSql(list))).toMatch(/^SEARCH (tasks USING (COVERING )?INDEX|counts USING)/);
});

test("a context is looked up among those that lost tasks, and freed by time", () => {
  expect(explain(FORGOTTEN)).toMatch(
    /^SEARCH expired_contexts USING PRIMARY KEY \(owner=\? AND context=\?\)/,
  );
  expect(explain(FORGOTTEN)).toMatch(
    /SEARCH tasks USING COVERING INDEX tasks_in_context \(owner=\? AND context=\?\)/,
  );
  expect(explain(FORGET_CONTEXTS)).toMatch(/INDEX expired_contexts_by_time \(at<\?\)/);
  expect(explain(FORGOTTEN_BY_AGENT)).toMatch(
    /^SEARCH expired_contexts USING PRIMARY KEY \(owner=\? AND context=\? AND agent_id=\?\)/,
  );
  for (const sql of [FORGOTTEN, FORGOTTEN_BY_AGENT, FORGET_CONTEXTS]) {
    const plan = explain(sql);
    expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
  }
});

test("compactable tasks are looked up by the time they ended", () => {
  expect(explain(COMPACTABLE)).toMatch(
    /^SEARCH tasks USING INDEX tasks_ended \(compacted=\? AND status_at<\?\)/,
  );
});

test("changed tasks are looked up by time in each state, or in their context", () => {
  const everywhere = explain(changedSql({ owner: "ann", at: 5 }));
  const ofAgent = explain(changedSql({ owner: "ann", agentId: "a", at: 5 }));
  const inContext = explain(changedSql({ owner: "ann", contextId: "c", at: 5 }));

  expect(everywhere).toMatch(/tasks_by_state \(owner=\? AND state=\? AND status_at>\?\)/);
  expect(ofAgent).toMatch(
    /tasks_by_agent \(owner=\? AND agent_id=\? AND state=\? AND status_at>\?\)/,
  );
  expect(inContext).toMatch(/tasks_in_context \(owner=\? AND context=\? AND created_at<\?\)/);
  for (const plan of [everywhere, ofAgent, inContext]) expect(plan).not.toMatch(/SCAN/);
});

test.each([undefined, 3])(
  "a later page until a time starts where the previous one ended (since %s)",
  (since) => {
    const bounded = { ...query, state: "working", until: 9, after } as const;
    const plan = explain(pageSql(since === undefined ? bounded : { ...bounded, since }));

    expect(plan).toMatch(/tasks_by_state \(owner=\? AND state=\? AND .*\(?status_at,task_id\)?<\(/);
  },
);

test("the list of one state reads only its page from the index", () => {
  const { state = "working" } = LISTS["one state"]!;

  expect(explain(pageSql({ ...query, state, after }))).toMatch(
    /SEARCH tasks USING COVERING INDEX tasks_by_state \(owner=\? AND state=\? AND \(?status_at/,
  );
});

function explain(sql: string): string {
  const db = new DatabaseSync(":memory:");
  migrate(db);
  const plan = db
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map((row) => String(row["detail"]))
    .join("\n");
  db.close();
  return plan;
}
