import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestModule } from "vitest/node";
import type { Requirement } from "./requirement.ts";

/** A test that cites a requirement, and its result. */
export interface Citation {
  readonly id: string;
  readonly file: string;
  readonly test: string;
  readonly state: "passed" | "failed" | "skipped" | "pending";
}

/** The citations of the last complete test run. */
export interface TestRecord {
  readonly endedAt: string;
  readonly citations: readonly Citation[];
}

const RECORD = fileURLToPath(
  new URL("../../node_modules/.cache/convoke/requirements.json", import.meta.url),
);

export function writeRecord(record: TestRecord, path: string = RECORD): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(record));
}

/** `undefined` if there has been no complete run here. */
export function readRecord(path: string = RECORD): TestRecord | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as TestRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** The citations of all tests of a run. */
export function citationsIn(modules: readonly TestModule[]): readonly Citation[] {
  return modules.flatMap((module) =>
    [...module.children.allTests()].flatMap((test) =>
      (test.meta().requirements ?? []).map((id) => ({
        id,
        file: module.relativeModuleId,
        test: test.fullName,
        state: test.result().state,
      })),
    ),
  );
}

/**
 * The contradictions between the manifest and a complete test run, one sentence each. Citing a
 * planned requirement is allowed: its proof may be completed later. Failed tests are not reported
 * here, because they fail the run themselves.
 */
export function citationProblems(
  requirements: readonly Requirement[],
  citations: readonly Citation[],
): readonly string[] {
  const known = new Set(requirements.map(({ id }) => id));
  const byId = Map.groupBy(citations, ({ id }) => id);
  const unknown = citations.filter(({ id }) => !known.has(id));
  const unbacked = requirements.flatMap(({ id, status }) => {
    if (status !== "proven") return [];
    const cited = byId.get(id);
    if (cited === undefined) return [`${id} is marked proven but no test cites it`];
    const hasRun = cited.some(({ state }) => state === "passed" || state === "failed");
    return hasRun
      ? []
      : [`${id} is marked proven but ${cited[0]!.file} skips the test that cites it`];
  });
  return [
    ...unknown.map(
      ({ id, file, test }) => `${file}: "${test}" cites the unknown requirement ${id}`,
    ),
    ...unbacked,
  ];
}
