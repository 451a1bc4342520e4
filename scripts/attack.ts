/**
 * Attacks a running server and prints the outcome of every attack:
 *
 *     npm run attack -- http://127.0.0.1:3000 --token <of one caller> --other-token <of another>
 *
 * Without a URL it attacks our server and `@a2a-js/sdk` in their default configuration, and writes
 * both columns to `docs/security.md`. The exit code is 1 if a server fell, except for the SDK.
 */
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { scaleOf } from "../test/attack/attack.ts";
import { ATTACK_FAMILIES } from "../test/attack/attacks/all.ts";
import { type Column, countsTable, familyTable, toColumn } from "../test/attack/page.ts";
import { type AttackResult, type StartedTarget, runAttacks } from "../test/attack/run-attack.ts";
import { startOurs } from "../test/attack/servers/our-target.ts";
import { startSdk } from "../test/attack/servers/sdk-target.ts";
import { usageOf } from "../test/attack/servers/target-process.ts";
import { readInterfaces } from "../test/attack/wire/card.ts";

const PAGE = new URL("../docs/security.md", import.meta.url);
const BEGIN = "<!-- what follows is written by scripts/attack.ts -->";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Attacks whose id begins like this. */
    only: { type: "string", multiple: true },
    /** The bearer tokens of two callers. */
    token: { type: "string" },
    "other-token": { type: "string" },
    /** The process and the log file of the server, if they are on this machine. */
    pid: { type: "string" },
    log: { type: "string" },
    /** How long the server lets slow clients wait, in seconds. */
    slow: { type: "string", default: "360" },
  },
});

const slowMs = Number(options.slow) * 1000;
const scale = scaleOf(process.env);
const { only } = options;
const families = ATTACK_FAMILIES.map((family) => ({
  ...family,
  attacks: family.attacks.filter(
    ({ id }) => only === undefined || only.some((start) => id.startsWith(start)),
  ),
}));

async function attack(
  name: string,
  start: Parameters<typeof runAttacks>[1],
): Promise<readonly AttackResult[]> {
  const results: AttackResult[] = [];
  for await (const result of runAttacks(families, start, scale)) {
    const { verdict, reason, attack: one } = result;
    console.log(`${name}: ${one.id} ${verdict}${reason === "" ? "" : ` (${reason})`}`);
    results.push(result);
  }
  return results;
}

/** The server that the command line names. */
async function givenTarget(url: string): Promise<StartedTarget> {
  const { token, "other-token": other, pid, log } = options;
  const header = (text: string) => ({ authorization: `Bearer ${text}` });
  return {
    target: {
      url,
      slowMs,
      interfaces: await readInterfaces(url),
      ...(token !== undefined &&
        other !== undefined && { callers: { ann: header(token), bob: header(other) } }),
      ...(pid !== undefined && usageOf(Number(pid))),
      ...(log !== undefined && { log: () => readFile(log, "utf8") }),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function writePage(columns: readonly Column[]): Promise<void> {
  const tables = families.map((family) => `### ${family.title}\n\n${familyTable(family, columns)}`);
  const [text = ""] = (await readFile(PAGE, "utf8")).split(BEGIN);
  await writeFile(PAGE, [`${text}${BEGIN}`, countsTable(columns), ...tables, ""].join("\n\n"));
  execFileSync("npx", ["oxfmt", fileURLToPath(PAGE)]);
}

const [url] = positionals;
if (url !== undefined) {
  const results = await attack(url, () => givenTarget(url));
  if (results.some(({ verdict }) => verdict === "fell")) process.exitCode = 1;
} else {
  const ours = await attack("Convoke", (family) => startOurs(family, { slowMs }));
  const theirs = await attack("@a2a-js/sdk", () => startSdk({ slowMs }));
  const columns = [toColumn("Convoke", ours), toColumn("`@a2a-js/sdk` 1.3.0", theirs)];
  if (only === undefined) await writePage(columns);
  console.log(`\n${countsTable(columns)}`);
  if (ours.some(({ verdict }) => verdict === "fell")) process.exitCode = 1;
}
