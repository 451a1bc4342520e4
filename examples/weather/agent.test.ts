import { readFile } from "node:fs/promises";
import { say } from "convoke/testing";
import { expect, test } from "vitest";
import guide from "./agent.ts";

test("an agent with a model is ten lines, and can be tried without a key", async () => {
  const { text, task } = await say(guide, "weather(city=Rome)");

  expect(text).toContain('`weather` gave: {"city":"Rome","sky":"sunny"}');
  expect(task?.status.state).toBe("completed");
});

test("the guide shows exactly this agent", async () => {
  const [page, code] = await Promise.all(
    ["../../docs/guide/agents-with-models.md", "./agent.ts"].map((path) =>
      readFile(new URL(path, import.meta.url), "utf8"),
    ),
  );

  expect(page).toContain(code!);
  expect(code!.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(10);
});
