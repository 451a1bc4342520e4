/**
 * Runs every test that has a long form at full size, one after the other, and prints a line for
 * each. Arguments select some of them: `npm run test:long -- kill push`.
 */
import { runNpmScript } from "./npm-script.ts";

const LONG_FORMS = [
  "crash",
  "kill",
  "stops",
  "loop",
  "tree",
  "push",
  "cluster",
  "move",
  "files",
  "erasure",
  "model",
  "resume",
  "coder",
  "host",
  "properties",
  "fuzz",
  "shell",
  "attack",
  "mutation",
  "soak",
  "million",
  "guides",
  "docs",
  "console",
  "interop",
  "large",
  "pack",
  "fresh",
  "adapters",
];

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !LONG_FORMS.includes(name));
if (unknown.length > 0) {
  console.error(`There is no test:${unknown.join(", test:")}; there are ${LONG_FORMS.join(", ")}.`);
  process.exit(2);
}

const failed: string[] = [];
for (const name of chosen.length > 0 ? chosen : LONG_FORMS) {
  const began = performance.now();
  const { code, output } = await runNpmScript(`test:${name}`);
  const seconds = Math.round((performance.now() - began) / 1000);
  const tests = /^ *Tests +(.*)$/m.exec(output)?.[1] ?? "no tests ran";
  console.log(`${code === 0 ? "ok    " : "FAILED"} test:${name}: ${tests}, ${seconds} s`);
  if (code === 0) continue;
  failed.push(name);
  console.log(output);
}
if (failed.length > 0) {
  console.error(`\n${failed.length} failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
