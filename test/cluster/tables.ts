/** Executes a query. `@.` stands for the schema. */
interface Queries {
  rows(query: string, schema?: string): readonly (readonly string[])[];
}

/** What is wrong with the tables of a schema when all tasks have ended, as sentences. */
export function problemsOfTables(database: Queries, schema?: string): readonly string[] {
  return CHECKS.flatMap(([problem, query]) => {
    const rows = database.rows(query, schema);
    return rows.map((row) => `${problem}: ${row.join(", ")}`);
  });
}

const CHECKS: readonly (readonly [problem: string, query: string])[] = [
  [
    "a segment does not follow the one before it",
    `SELECT task, first, last, epoch, before, earlier FROM (
       SELECT *, lag(last) OVER w AS before, lag(epoch) OVER w AS earlier FROM @.segment
       WINDOW w AS (PARTITION BY task ORDER BY first)) s
     WHERE first <> coalesce(before, 0) + 1 OR epoch < coalesce(earlier, 0)`,
  ],
  ["a mailbox entry is left", "SELECT task, kind, json FROM @.mailbox"],
  ["a process still has a task", "SELECT task_id, run_by FROM @.task WHERE run_by IS NOT NULL"],
  [
    "the counts are not those of the tasks",
    `SELECT state, (SELECT count(*) FROM @.task t WHERE t.state = c.state AND t.listed), sum(tasks)
     FROM @.counts c GROUP BY state
     HAVING sum(tasks) <> (SELECT count(*) FROM @.task t WHERE t.state = c.state AND t.listed)`,
  ],
];
