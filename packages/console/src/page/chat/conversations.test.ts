import { expect, test } from "vitest";
import type { TaskRow } from "../server/task-list.ts";
import { groupByContext } from "./conversations.ts";

function row(contextId: string, second: number, firstWords: string): TaskRow {
  const timestamp = new Date(second * 1000).toISOString();
  const status = { state: second > 2 ? "working" : "completed", timestamp } as const;
  return {
    id: `t${second}`,
    contextId,
    agent: "A",
    status,
    createdAt: timestamp,
    head: 1,
    firstWords,
  };
}

test("tasks of one context are one conversation, with its first words and its newest state", () => {
  const rows = [
    row("b", 4, "more"),
    row("a", 3, "again\u202E"),
    row("b", 2, "begin\n  here"),
    row("a", 1, ""),
  ];

  expect(groupByContext(rows)).toEqual([
    {
      contextId: "b",
      title: "begin here",
      state: "working",
      changedAt: "1970-01-01T00:00:04.000Z",
    },
    {
      contextId: "a",
      title: "A conversation",
      state: "working",
      changedAt: "1970-01-01T00:00:03.000Z",
    },
  ]);
});
