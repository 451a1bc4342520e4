/**
 * Runs every test that has a long form at full size, one after the other, and prints a line for
 * each. Arguments select some of them: `npm run test:long -- kill push`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";

const LONG_FORMS = [
  "crash",
  "kill",
  "loop",
  "tree",
  "push",
  "cluster",
  "move",
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
  "pack",
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
  const { code, output } = await runScript(`test:${name}`);
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

async function runScript(
  script: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn("npm", ["run", "--silent", script], {
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}
