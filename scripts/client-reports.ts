// Writes the reports of `convoke check --client` on our client and on the official ones to
// docs/check/client-*.md:
//
//     npm run check:clients
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { REPORT_PAGES, checkForPage, reportPage } from "../test/client-check/report-page.ts";

// The SDKs log what they reject, and do not handle all of their own rejections.
for (const name of ["log", "info", "warn", "error"] as const) console[name] = () => undefined;
process.on("unhandledRejection", () => undefined);
process.on("uncaughtException", () => undefined);

for (const page of REPORT_PAGES) {
  const file = fileURLToPath(new URL(`../docs/check/${page.file}`, import.meta.url));
  const results = await checkForPage(page);
  writeFileSync(file, reportPage(page, results));
  execFileSync("npx", ["--no-install", "oxfmt", file]);
  process.stdout.write(`${page.file}: ${JSON.stringify(results.counts)}\n`);
}
// The official clients keep connections and timers open.
process.exit(0);
