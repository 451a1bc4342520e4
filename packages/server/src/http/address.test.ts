import { describe, expect, test } from "vitest";
import { checkBasePath, stripBasePath, toUrl } from "./address.ts";

describe("a base path", () => {
  test.each([
    [undefined, ""],
    ["", ""],
    ["/", ""],
    ["/agent", "/agent"],
    ["/agent/", "/agent"],
    ["/apps/a%20b/v1", "/apps/a%20b/v1"],
  ])("%j is kept as %j", (given, kept) => {
    expect(checkBasePath(given)).toBe(kept);
  });

  test.each([
    "agent",
    "https://app.example/agent",
    "/a b",
    "/agent?x=1",
    "/agent/*",
    "//agent",
    "/a#b",
  ])("%j is rejected, and the error names the option", (given) => {
    expect(() => checkBasePath(given)).toThrow(
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
    // A framework has already stripped it.
    ["/", "/"],
    ["/tasks", "/tasks"],
    // Another path that only starts alike.
    ["/agents/tasks", "/agents/tasks"],
  ])("%s is %s", (path, below) => {
    expect(stripBasePath(path, "/agent")).toBe(below);
  });
});

test("an address is a URL that ends with a slash", () => {
  expect(toUrl({ host: "127.0.0.1", port: 3000 })).toBe("http://127.0.0.1:3000/");
  expect(toUrl({ host: "localhost", port: 80 })).toBe("http://localhost:80/");
});

test("an IPv6 address is in brackets", () => {
  expect(toUrl({ host: "::1", port: 3000 })).toBe("http://[::1]:3000/");
});
