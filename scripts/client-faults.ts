/**
 * Runs our client and the official ones against every faulty agent, and writes the outcomes to
 * `docs/client/faults.md`. `--only <start>` runs the scenarios whose id begins like this and prints
 * them; it can be repeated.
 */
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  FAULT_GROUPS,
  type FaultScenario,
  type FaultSpeaking,
} from "../test/client-faults/index.ts";
import { selfSigned } from "../test/bindings/self-signed.ts";
import type { ClientUnderTest } from "../test/client/faults/client-under-test.ts";
import { ourClient } from "../test/client/faults/our-client.ts";
import { mountRepeater } from "../test/client/faults/repeating-agent.ts";
import { runScenario } from "../test/client/faults/run-scenario.ts";
import { sdkV03, sdkV1 } from "../test/client/faults/sdk-clients.ts";
import { type Row, countsTable, groupTable } from "../test/client/faults/table.ts";
import { judge } from "../test/client/faults/verdict.ts";

const PAGE = new URL("../docs/client/faults.md", import.meta.url);
const BEGIN = "<!-- what follows is written by scripts/client-faults.ts -->";

/** Runs in parallel, because they mostly wait for the network. */
const AT_ONCE = 12;

const { values: options } = parseArgs({ options: { only: { type: "string", multiple: true } } });
const { only } = options;

interface Run {
  readonly client: ClientUnderTest;
  readonly scenario: FaultScenario;
  readonly speaking: FaultSpeaking;
}

const runs: readonly Run[] = FAULT_GROUPS.flatMap(({ scenarios }) => scenarios)
  .filter(({ id }) => only === undefined || only.some((start) => id.startsWith(start)))
  .flatMap((scenario) => scenario.speaks.map((speaking) => ({ scenario, speaking })))
  .flatMap((run) =>
    [ourClient, sdkV1, sdkV03]
      .filter((client) => client.speaks(run.speaking))
      .map((client) => ({ ...run, client })),
  );

// Uncaught errors are recorded, and the other runs continue.
const unhandled: string[] = [];
process.on("unhandledRejection", (error) => unhandled.push(String(error)));
process.on("uncaughtException", (error) => unhandled.push(String(error)));

const trusted = selfSigned();
const untrusted = selfSigned();
setDefaultCACertificates([...getCACertificates(), trusted.cert]);
const repeater = await mountRepeater();
const rows: Row[] = [];

async function take({ client, scenario, speaking }: Run): Promise<void> {
  const tls = scenario.tls === "trusted" ? trusted : untrusted;
  const { fetch: behind } = repeater;
  const { outcome } = await runScenario({ client, scenario, speaking, tls, behind });
  const judged = judge(outcome, scenario);
  rows.push({ client: client.name, scenario: scenario.id, speaking, judged });
  if (only !== undefined) {
    console.log(
      `${client.name} ${speaking.binding} ${speaking.version}: ${judged.verdict} ${judged.came}`,
    );
  }
}

// Runs that need a whole processor come last, one after the other.
const light = runs.filter(({ scenario }) => scenario.boundMs === undefined);
const left = [...light];
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let run = left.shift(); run !== undefined; run = left.shift()) await take(run);
  }),
);
for (const run of runs) if (!light.includes(run)) await take(run);
await repeater.close();

console.log(`\n${countsTable(rows)}`);
if (unhandled.length > 0)
  console.log(`\nnobody caught ${unhandled.length}: ${[...new Set(unhandled)].join("; ")}`);

if (only === undefined) {
  const groups = FAULT_GROUPS.map((group) => `### ${group.title}\n\n${groupTable(group, rows)}\n`);
  const [text = ""] = (await readFile(PAGE, "utf8")).split(BEGIN);
  const table = [countsTable(rows), ...groups].join("\n\n");
  await writeFile(PAGE, `${text}${BEGIN}\n\n${table}`);
  execFileSync("npx", ["--no-install", "oxfmt", fileURLToPath(PAGE)]);
}
// The official clients keep their own connections and timers open.
process.exit(0);
