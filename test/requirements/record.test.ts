import { join } from "node:path";
import type { TestModule } from "vitest/node";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { type Citation, citationProblems, citationsIn, readRecord, writeRecord } from "./record.ts";
import type { Requirement } from "./requirement.ts";

function aRequirement(overrides: Partial<Requirement> = {}): Requirement {
  const planned = { milestone: "skeleton", status: "planned" } as const;
  return { id: "R1", text: "It works.", source: "a test", ...planned, ...overrides };
}

function aCitation(overrides: Partial<Citation> = {}): Citation {
  return { id: "R1", file: "a.test.ts", test: "it works", state: "passed", ...overrides };
}

describe("collecting citations", () => {
  const aTest = (fullName: string, state: string, requirements?: readonly string[]) => ({
    fullName,
    meta: () => ({ ...(requirements && { requirements }) }),
    result: () => ({ state }),
  });
  const aModule = (relativeModuleId: string, ...tests: readonly object[]) =>
    ({ relativeModuleId, children: { allTests: () => tests } }) as unknown as TestModule;

  test("every id of every test is a citation, with how the test ended", () => {
    const modules = [
      aModule("a.test.ts", aTest("one", "passed", ["R1", "G2"]), aTest("cites nothing", "passed")),
      aModule("b.test.ts", aTest("two", "failed", ["R1"])),
    ];

    expect(citationsIn(modules)).toEqual([
      { id: "R1", file: "a.test.ts", test: "one", state: "passed" },
      { id: "G2", file: "a.test.ts", test: "one", state: "passed" },
      { id: "R1", file: "b.test.ts", test: "two", state: "failed" },
    ]);
  });
});

describe("judging a run of all tests", () => {
  const proven = aRequirement({ status: "proven" });

  test("a proven requirement whose test passed is fine", () => {
    expect(citationProblems([proven], [aCitation()])).toEqual([]);
  });

  test("a planned requirement may be cited, or not", () => {
    expect(citationProblems([aRequirement()], [aCitation()])).toEqual([]);
    expect(citationProblems([aRequirement()], [])).toEqual([]);
  });

  test("a proven requirement that no test cites is a problem", () => {
    expect(citationProblems([proven], [])).toEqual(["R1 is marked proven but no test cites it"]);
  });

  test("a proven requirement whose tests are all skipped is a problem", () => {
    const skipped = aCitation({ state: "skipped" });

    expect(citationProblems([proven], [skipped])).toEqual([
      "R1 is marked proven but a.test.ts skips the test that cites it",
    ]);
    expect(citationProblems([proven], [skipped, aCitation()])).toEqual([]);
  });

  test("a test that failed is reported by itself", () => {
    expect(citationProblems([proven], [aCitation({ state: "failed" })])).toEqual([]);
  });

  test("an unknown id is a problem that names the test", () => {
    expect(citationProblems([], [aCitation()])).toEqual([
      'a.test.ts: "it works" cites the unknown requirement R1',
    ]);
  });
});

describe("the record of the last run", () => {
  test("is read as it was written", () => {
    const path = join(temporaryFolder(), "cache", "record.json");
    const record = { endedAt: "2026-01-01T00:00:00.000Z", citations: [aCitation()] };

    writeRecord(record, path);

    expect(readRecord(path)).toEqual(record);
  });

  test("is undefined before the first run", () => {
    expect(readRecord(join(temporaryFolder(), "none.json"))).toBeUndefined();
  });
});
