import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { citationProblems, findCitations, readCitations } from "./citations.ts";
import type { Requirement } from "./requirement.ts";

function aRequirement(overrides: Partial<Requirement> = {}): Requirement {
  const planned = { milestone: "skeleton", status: "planned" } as const;
  return { id: "R1", text: "It works.", source: "a test", ...planned, ...overrides };
}

function idsIn(text: string): readonly string[] {
  return findCitations("a.test.ts", text).map((citation) => citation.id);
}

describe("finding citations", () => {
  test("one id and a list of ids are both found", () => {
    const text = `verifies("R1", "one", () => {});\nverifies(["R2", 'G3'], "two", () => {});`;

    expect(idsIn(text)).toEqual(["R1", "R2", "G3"]);
  });

  test("a citation spread over several lines is found where it starts", () => {
    const text = `\n\nverifies(\n  [\n    "R1",\n    "v1-S14",\n  ],\n  "title",\n);`;

    expect(findCitations("a.test.ts", text)).toEqual([
      { id: "R1", file: "a.test.ts", line: 3 },
      { id: "v1-S14", file: "a.test.ts", line: 3 },
    ]);
  });

  test("a citation in a comment or in a string proves nothing", () => {
    const text = [
      `// verifies("R1", …)`,
      `/* verifies("R2",`,
      `   verifies("R3", … */`,
      'const a = `verifies("R4", …)`;',
      `const b = 'verifies("R5", …)';`,
      `const c = "verifies('R6', \\"…\\")";`,
      `verifies("R7", "https://example.com/ it's found", () => {});`,
    ].join("\n");

    expect(idsIn(text)).toEqual(["R7"]);
  });

  test("other functions and ids that are not literals are passed over", () => {
    const text = `test("R1"); falsifies("R2"); verifies(id, "title"); verifies([], "none");`;

    expect(idsIn(text)).toEqual([]);
  });
});

describe("reading citations", () => {
  test("tests and suites are read, dependencies, builds and other files are not", () => {
    const root = mkdtempSync(join(tmpdir(), "citations-"));
    const write = (path: string, id: string): void => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), `verifies("${id}", "title", () => {});`);
    };
    write("packages/a/src/deep/one.test.ts", "R1");
    write("packages/a/src/two.suite.ts", "R2");
    write("apps/b/src/three.test.ts", "R3");
    write("test/four.test.ts", "R4");
    write("examples/c/five.test.ts", "R5");
    write("bench/six.test.ts", "R6");
    write("packages/a/src/source.ts", "R7");
    write("packages/a/node_modules/x/one.test.ts", "R8");
    write("packages/a/dist/one.test.ts", "R9");
    write("elsewhere/one.test.ts", "R10");

    try {
      const ids = readCitations(root).map((citation) => citation.id);

      expect(ids.toSorted()).toEqual(["R1", "R2", "R3", "R4", "R5", "R6"]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe("judging citations", () => {
  const citesR1 = [{ id: "R1", file: "a.test.ts", line: 7 }];

  test("a proven requirement that a test cites is fine", () => {
    expect(citationProblems([aRequirement({ status: "proven" })], citesR1)).toEqual([]);
  });

  test("a planned requirement may be cited, or not", () => {
    expect(citationProblems([aRequirement()], citesR1)).toEqual([]);
    expect(citationProblems([aRequirement()], [])).toEqual([]);
  });

  test("a proven requirement that no test cites is a problem", () => {
    const proven = aRequirement({ id: "R2", status: "proven" });

    expect(citationProblems([aRequirement(), proven], citesR1)).toEqual([
      "R2 is marked proven but no test cites it",
    ]);
  });

  test("an unknown id is a problem that names its place", () => {
    expect(citationProblems([aRequirement({ id: "R2" })], citesR1)).toEqual([
      "a.test.ts:7 cites the unknown requirement R1",
    ]);
  });
});
