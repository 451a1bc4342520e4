import { DatabaseSync } from "node:sqlite";
import type { PushQuery } from "@convoke/engine";
import { expect, test } from "vitest";
import { GET_PUSH, PUSHES_OF_TASK, pushesSql } from "./push-table.ts";
import { migrate } from "./schema.ts";

const after = { taskId: "t1", id: "p1" };

test.each(Object.entries({ GET_PUSH, PUSHES_OF_TASK }))(
  "%s is answered from the key, without sorting",
  (_, sql) => {
    const plan = explain(sql);

    expect(plan).toMatch(/^SEARCH pushes USING PRIMARY KEY \(task_id=\?/);
    expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
  },
);

test.each<PushQuery>([
  { state: "active", limit: 9 },
  { state: "active", limit: 9, owner: "ann" },
  { state: "dead", limit: 9 },
  { state: "dead", limit: 9, owner: "ann" },
])("a list of those that are $state (owner $owner) reads an index of only those", (query) => {
  const first = explain(pushesSql(query));
  const later = explain(pushesSql({ ...query, after }));

  const index = `pushes USING INDEX pushes_${query.state}`;
  expect(first).toMatch(new RegExp(`^SCAN ${index}`));
  expect(later).toMatch(new RegExp(`^SEARCH ${index} \\(.*task_id`));
  for (const plan of [first, later]) expect(plan).not.toMatch(/TEMP B-TREE|SCAN tasks/);
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
