/**
 * Prints what is proven and what is planned, per group of the requirements manifest, so that
 * nobody has to guess what the product does today. `--json` prints the whole manifest with it.
 */
import { parseArgs } from "node:util";
import { REQUIREMENTS } from "../test/requirements.ts";

const { values: options } = parseArgs({ options: { json: { type: "boolean", default: false } } });

const groups = REQUIREMENTS.map(({ title, requirements }) => {
  const proven = requirements.filter(({ status }) => status === "proven").length;
  return { title, proven, total: requirements.length, requirements };
});

if (options.json) {
  console.log(JSON.stringify(groups, null, 2));
} else {
  for (const { title, proven, total, requirements } of groups) {
    console.log(`${title}: ${proven}/${total} proven`);
    const planned = requirements.filter(({ status }) => status === "planned");
    for (const [milestone, entries] of Map.groupBy(planned, (entry) => entry.milestone)) {
      console.log(`  planned with ${milestone}: ${entries.map(({ id }) => id).join(" ")}`);
    }
  }
  const sum = (key: "proven" | "total"): number => groups.reduce((n, group) => n + group[key], 0);
  console.log(`\nTogether: ${sum("proven")}/${sum("total")} proven`);
}
