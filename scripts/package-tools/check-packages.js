// Checks packed packages with publint and "Are the types wrong?":
// node check-packages.js <tarball>…
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/** The packages are ES modules, which these two ways to resolve them do not know. */
const NOT_FOR_MODULES = new Set(["node10", "node16-cjs"]);

for (const file of process.argv.slice(2)) {
  const tarball = new Uint8Array(await readFile(file));
  const problems = [...(await packagingProblems(tarball)), ...(await typeProblems(tarball))];
  for (const problem of problems) console.log(`${basename(file)}: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}

async function packagingProblems(tarball) {
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  return messages.map((message) => formatMessage(message, pkg, { color: false }));
}

async function typeProblems(tarball) {
  const { types, problems } = await checkPackage(createPackageFromTarballData(tarball));
  if (!types) return ["it has no types"];
  return problems
    .filter(({ resolutionKind }) => !NOT_FOR_MODULES.has(resolutionKind))
    .map((problem) => JSON.stringify(problem));
}
