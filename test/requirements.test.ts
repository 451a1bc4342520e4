import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { REQUIREMENTS, findRequirement } from "./requirements.ts";
import { citationProblems, readCitations } from "./requirements/citations.ts";
import { verifies } from "./verifies.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const requirements = REQUIREMENTS.flatMap((group) => group.requirements);
const ids = requirements.map((requirement) => requirement.id);

function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
}

describe("the manifest", () => {
  test("R1 to R127 and G1 to G14 are there, once each and in order", () => {
    expect(ids.filter((id) => id.startsWith("R"))).toEqual(numbered("R", 127));
    expect(ids.filter((id) => id.startsWith("G"))).toEqual(numbered("G", 14));
  });

  test("no id is used twice", () => {
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test("every requirement says something and where it comes from", () => {
    const empty = requirements.filter(({ text, source }) => !text.endsWith(".") || source === "");

    expect(empty).toEqual([]);
  });

  test("what is proven has a test, and no test cites the unknown", () => {
    expect(citationProblems(requirements, readCitations(root))).toEqual([]);
  });
});

describe("citing", () => {
  // Held in constants, because literals would be read as citations by this very test.
  const known = ["G1", "R1"];
  const unknown = "R128";
  const knownAndUnknown = [...known, unknown];
  const none: readonly string[] = [];

  verifies(known, "the ids follow the title of the test", () => {
    expect(expect.getState().currentTestName).toMatch(/the title of the test \[G1, R1\]$/);
  });

  test("an unknown id is refused at once and named", () => {
    expect(findRequirement(unknown)).toBeUndefined();
    expect(() => verifies(unknown, "a title", () => {})).toThrow(
      '"a title" cites the unknown requirement R128',
    );
    expect(() => verifies(knownAndUnknown, "a title", () => {})).toThrow("R128");
  });

  test("a test that cites nothing is refused", () => {
    expect(() => verifies(none, "a title", () => {})).toThrow('"a title" cites no requirement');
  });
});
