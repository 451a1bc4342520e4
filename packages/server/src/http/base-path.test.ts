import { describe, expect, test } from "vitest";
import { belowBase, checkedBasePath } from "./base-path.ts";

describe("a base path", () => {
  test.each([
    [undefined, ""],
    ["", ""],
    ["/", ""],
    ["/agent", "/agent"],
    ["/agent/", "/agent"],
    ["/apps/a%20b/v1", "/apps/a%20b/v1"],
  ])("%j is kept as %j", (given, kept) => {
    expect(checkedBasePath(given)).toBe(kept);
  });

  test.each([
    "agent",
    "https://app.example/agent",
    "/a b",
    "/agent?x=1",
    "/agent/*",
    "//agent",
    "/a#b",
  ])("%j is refused, and the error names the option", (given) => {
    expect(() => checkedBasePath(given)).toThrow(
      `basePath must be a path from the root, as in "/agent", not "${given}"`,
    );
  });
});

describe("below /agent", () => {
  test.each([
    ["/agent", "/"],
    ["/agent/", "/"],
    ["/agent/tasks", "/tasks"],
    ["/agent/agent/tasks", "/agent/tasks"],
    // Someone before us has taken it off.
    ["/", "/"],
    ["/tasks", "/tasks"],
    // Another path that only begins alike.
    ["/agents/tasks", "/agents/tasks"],
  ])("%s is %s", (path, below) => {
    expect(belowBase(path, "/agent")).toBe(below);
  });
});
