import { describe, expect, test } from "vitest";
import { REQUIREMENTS, findRequirement } from "./requirements.ts";
import { cite } from "./verifies.ts";

const requirements = REQUIREMENTS.flatMap((group) => group.requirements);
const ids = requirements.map((requirement) => requirement.id);

function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
}

/** The families of ids, and the last number of each. */
const FAMILIES: readonly (readonly [prefix: string, count: number])[] = [
  ["R", 127],
  ["G", 14],
  ["v1-S", 66],
  ["v1-C", 16],
  ["v03-S", 21],
  ["v03-C", 7],
  ["seed-C", 30],
  ["loop-L", 17],
  ["inbound-K", 14],
  ["sdk-p", 9],
];

function byNumber(one: string, other: string): number {
  return Number(/\d+$/.exec(one)) - Number(/\d+$/.exec(other));
}

describe("the manifest", () => {
  for (const [prefix, count] of FAMILIES) {
    test(`has ${prefix}1 to ${prefix}${count}, and no others`, () => {
      const family = ids.filter((id) => id.replace(/\d+$/, "") === prefix);

      expect(family.toSorted(byNumber)).toEqual(numbered(prefix, count));
    });
  }

  test("has only ids that belong to a family", () => {
    const prefixes = FAMILIES.map(([prefix]) => prefix);

    expect(ids.filter((id) => !prefixes.includes(id.replace(/\d+$/, "")))).toEqual([]);
  });

  test("uses no id twice", () => {
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test("has a text and a source for every requirement", () => {
    const empty = requirements.filter(({ text, source }) => !text.endsWith(".") || source === "");

    expect(empty).toEqual([]);
  });
});

describe("citing", () => {
  test("the ids follow the title of the test", () => {
    expect(cite(["G1", "R1"], "a title")).toEqual({
      name: "a title [G1, R1]",
      requirements: ["G1", "R1"],
    });
    expect(cite("G1", "a title").name).toBe("a title [G1]");
  });

  test("an unknown id is rejected immediately with its name", () => {
    expect(findRequirement("R128")).toBeUndefined();
    expect(() => cite("R128", "a title")).toThrow('"a title" cites the unknown requirement R128');
    expect(() => cite(["G1", "R128"], "a title")).toThrow("R128");
  });

  test("a test that cites nothing is rejected", () => {
    expect(() => cite([], "a title")).toThrow('"a title" cites no requirement');
  });
});
