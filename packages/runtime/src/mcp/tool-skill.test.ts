import { describe, expect, test } from "vitest";
import { toolSkill } from "./mcp-server.ts";

function skillOf(ownName: string, description = "Does it.") {
  return toolSkill({ name: "files__tool", description }, { server: "files", ownName });
}

test.each([
  ["read_text_file", "Read text file"],
  ["get-sum", "Get sum"],
  ["listAllFiles", "List all files"],
  ["fetchURL", "Fetch URL"],
  ["HTMLToText", "HTML to text"],
  ["Search", "Search"],
  ["with spaces/and.dots", "With spaces and dots"],
  ["base64_decode", "Base64 decode"],
  ["日本語", "日本語"],
  ["two\nlines\u0007", "Two lines"],
  ["___", "files__tool"],
  ["l".repeat(200), `L${"l".repeat(98)}…`],
])("%j has the readable name %j", (ownName, name) => {
  expect(skillOf(ownName)).toEqual({
    id: "files__tool",
    name,
    description: "Does it.",
    tags: ["mcp", "files"],
  });
});

describe("the description", () => {
  test("is the first paragraph of the tool's, in one line", () => {
    const description = "\n  Reads a file.\n  Only that.\n \nArgs:\n  path: where it is\n";

    expect(skillOf("read", description).description).toBe("Reads a file. Only that.");
  });

  test("is the name if the tool has none", () => {
    expect(skillOf("read_it", " ").description).toBe("Read it");
  });

  test.each([498, 499, 500, 501])(
    "is truncated if it is long, but not within a character (%d)",
    (long) => {
      const { description } = skillOf("read", `${"x".repeat(long)}👋👋`);

      expect(description.length).toBeLessThanOrEqual(500);
      expect(description).toMatch(/[x👋]…$/u);
      expect(description.isWellFormed()).toBe(true);
    },
  );

  test("has no lone surrogates from the server either", () => {
    expect(skillOf("read", "a \ud83d b").description).toBe("a \ufffd b");
  });
});
