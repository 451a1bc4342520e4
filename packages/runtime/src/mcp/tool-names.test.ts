import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { serverPrefixes, toolNames } from "./tool-names.ts";

const PROVIDERS_TAKE = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

describe("the names of tools", () => {
  test("are the server's and the tool's if they are valid", () => {
    expect(toolNames("files", ["read", "read-all"])).toEqual(
      new Map([
        ["read", "files__read"],
        ["read-all", "files__read-all"],
      ]),
    );
  });

  test("do not depend on the order, nor on other tools", () => {
    const all = toolNames("files", ["a b", "a.b", "a_b"]);

    expect(toolNames("files", ["a_b", "a.b", "a b"])).toEqual(all);
    expect(toolNames("files", ["a.b"]).get("a.b")).toBe(all.get("a.b"));
  });

  test("are changed if another tool has the resulting name", () => {
    const made = toolNames("files", ["a b"]).get("a b")!.replace("files__", "");

    const names = toolNames("files", ["a b", made]);

    expect(names.get(made)).toBe(`files__${made}`);
    expect(names.get("a b")).not.toBe(`files__${made}`);
  });

  test("are always distinct, whatever servers and tools are called", () => {
    const name = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.stringMatching(/^[a_-]{1,8}$/),
      fc.stringMatching(/^[a_. ]{60,80}$/),
    );
    const servers = fc.uniqueArray(name, { maxLength: 4 });
    const tools = fc.uniqueArray(name, { maxLength: 8 });
    fc.assert(
      fc.property(servers, tools, (serverNames, own) => {
        fc.pre(serverNames.every((one) => one.trim() !== ""));
        const prefixes = [...serverPrefixes(serverNames).values()];

        const names = prefixes.flatMap((prefix) => [...toolNames(prefix, own).values()]);

        expect(names).toHaveLength(serverNames.length * own.length);
        expect(new Set(names).size).toBe(names.length);
        for (const one of names) expect(one).toMatch(PROVIDERS_TAKE);
      }),
      { numRuns: 500 },
    );
  });
});

test("a server without a name is rejected", () => {
  expect(() => serverPrefixes([" "])).toThrow("a server in mcpServers has an empty name");
});
