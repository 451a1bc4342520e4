/**
 * Prints for each group of the requirements manifest what is proven and what is planned, according
 * to the record of the last complete test run. `--json` prints the whole manifest with the tests
 * that cite each entry.
 */
import { parseArgs } from "node:util";
import { REQUIREMENTS } from "../test/requirements.ts";
import { type TestRecord, readRecord } from "../test/requirements/record.ts";

const { values: options } = parseArgs({ options: { json: { type: "boolean", default: false } } });

const record = readRecord();
if (record === undefined) {
  console.error("There is no record of a complete test run yet: run `npm test` first.");
  process.exitCode = 1;
} else {
  print(record);
}

function print({ endedAt, citations }: TestRecord): void {
  const byId = Map.groupBy(citations, ({ id }) => id);
  const groups = REQUIREMENTS.map(({ title, requirements }) => ({
    title,
    requirements: requirements.map((requirement) => {
      const tests = byId.get(requirement.id) ?? [];
      const isProven =
        requirement.status === "proven" &&
        tests.some(({ state }) => state === "passed") &&
        tests.every(({ state }) => state !== "failed");
      return { ...requirement, isProven, tests: tests.map(({ file, test }) => `${file}: ${test}`) };
    }),
  }));
  if (options.json) {
    console.log(JSON.stringify({ endedAt, groups }, null, 2));
    return;
  }
  for (const { title, requirements } of groups) {
    const proven = requirements.filter(({ isProven }) => isProven);
    console.log(`${title}: ${proven.length}/${requirements.length} proven`);
    const planned = requirements.filter(({ status }) => status === "planned");
    for (const [milestone, entries] of Map.groupBy(planned, (entry) => entry.milestone)) {
      console.log(`  planned with ${milestone}: ${entries.map(({ id }) => id).join(" ")}`);
    }
    const open = requirements.filter(({ status, isProven }) => status === "proven" && !isProven);
    if (open.length > 0) console.log(`  not proven: ${open.map(({ id }) => id).join(" ")}`);
  }
  const all = groups.flatMap(({ requirements }) => requirements);
  const proven = all.filter(({ isProven }) => isProven).length;
  console.log(`\nTotal: ${proven}/${all.length} proven, according to the test run of ${endedAt}`);
}
