import { describe, expect, test } from "vitest";
import { REQUIREMENTS, findRequirement } from "./requirements.ts";
import { cite } from "./verifies.ts";

const requirements = REQUIREMENTS.flatMap((group) => group.requirements);
const ids = requirements.map((requirement) => requirement.id);

function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
}

describe("the manifest", () => {
  test("R1 to R127 and G1 to G14 are there, once each and in order", () => {
    expect(ids.filter((id) => id.startsWith("R"))).toEqual(numbered("R", 127));
    expect(ids.filter((id) => id.startsWith("G"))).toEqual(numbered("G", 14));
    expect(ids.filter((id) => id.startsWith("sdk-"))).toEqual(numbered("sdk-p", 9));
  });

  test("no id is used twice", () => {
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test("every requirement says something and where it comes from", () => {
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

  test("an unknown id is rejected at once and named", () => {
    expect(findRequirement("R128")).toBeUndefined();
    expect(() => cite("R128", "a title")).toThrow('"a title" cites the unknown requirement R128');
    expect(() => cite(["G1", "R128"], "a title")).toThrow("R128");
  });

  test("a test that cites nothing is rejected", () => {
    expect(() => cite([], "a title")).toThrow('"a title" cites no requirement');
  });
});
