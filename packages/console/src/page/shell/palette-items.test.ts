import { describe, expect, test } from "vitest";
import { allItems, findItems } from "./palette-items.ts";
import { titleOf } from "./sections.ts";

const agent = {
  id: "poet",
  name: "Poet",
  description: "",
  version: "1.0.0",
  path: "/agents/poet",
  isEnabled: true,
  isDefault: true,
};
const task = {
  id: "0198f3c2-0000",
  contextId: "c",
  agent: "Poet",
  status: { state: "working", timestamp: "2026-11-16T07:24:31.102Z" },
  createdAt: "2026-11-16T07:24:31.102Z",
  head: 3,
  firstWords: "an ode to the sea",
} as const;
const items = allItems([agent], [task]);

describe("the palette", () => {
  test("finds what contains all words, first what begins with them", () => {
    expect(findItems(items, "ta").map(({ name }) => name)).toEqual([
      "Tasks",
      "Talk to Poet",
      "an ode to the sea",
    ]);
    expect(findItems(items, "sea poet").map(({ to }) => to)).toEqual([
      { page: "task", taskId: task.id, lens: "story" },
    ]);
  });

  test("opens a pasted task id, also one that it has never seen", () => {
    expect(findItems(items, " 01a1e4ad-6b9d-7000 ")[0]?.to).toEqual({
      page: "task",
      taskId: "01a1e4ad-6b9d-7000",
      lens: "story",
    });
  });

  test("shows pages first as long as nothing is typed", () => {
    expect(findItems(items, "")[0]?.name).toBe("Home");
  });
});

test("each page has a title that begins with what it is about", () => {
  expect(titleOf({ page: "home" }, [])).toBe("Home · Convoke");
  expect(titleOf({ page: "chat", agent: "poet" }, [agent])).toBe("Poet · Chat · Convoke");
  expect(titleOf({ page: "task", taskId: "t1", lens: "wire" }, [])).toBe(
    "t1 (wire) · Tasks · Convoke",
  );
});
