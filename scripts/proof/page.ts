import { PARTS, type Part } from "./parts.ts";

/** What `docs/proof.json` contains. */
export interface Proof {
  readonly machine: Machine;
  /** In the order of `PARTS`; those that were never run on this machine are missing. */
  readonly parts: readonly PartRun[];
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory: string;
  readonly kernel: string;
  readonly node: string;
  /** The versions of the system programs that parts need. */
  readonly programs: Readonly<Record<string, string>>;
}

/** One run of a part. */
export interface PartRun {
  readonly name: string;
  readonly command: string;
  readonly isQuick: boolean;
  readonly at: string;
  readonly commit: string;
  /** The load of the machine when the part began. */
  readonly load: number;
  readonly seconds: number;
  /** `null`: a signal ended it, or it did not run. */
  readonly exitCode: number | null;
  /** Why it did not run, and how to change that. */
  readonly missing?: string;
  readonly results: Table;
}

/** The first row is the head. */
export type Table = readonly (readonly string[])[];

/** The results of a part in its output. Empty if there are none. */
export function resultsIn(output: string, { results }: Part): Table {
  if (results === "table") return lastTable(output);
  const lines = Array.from(output.matchAll(results), ([, ...cells]) => cells);
  return lines.length === 0 ? [] : [["", "result"], ...lines];
}

function lastTable(output: string): Table {
  const tables = output.match(/(?:^\|.*\|$\n?)+/gm) ?? [];
  const rows = (tables.at(-1) ?? "").trimEnd().split("\n").filter(Boolean);
  return rows.map(cellsOf).filter((cells) => !cells.every((cell) => /^:?-+:?$/.test(cell)));
}

function cellsOf(row: string): readonly string[] {
  return row
    .slice(1, -1)
    .split("|")
    .map((cell) => cell.trim());
}

/** The command that runs a part alone. */
export function commandOf(part: Part, isQuick = false): string {
  const { args = [], env = {} } = (isQuick ? part.quick : part.full) ?? {};
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value} `);
  const rest = args.length === 0 ? "" : ` -- ${args.join(" ")}`;
  return `${variables.join("")}npm run ${part.script}${rest}`;
}

/** The page, before the formatter. */
export function proofPage(proof: Proof): string {
  const runs = PARTS.map((part) => ({
    part,
    run: proof.parts.find(({ name }) => name === part.name),
  }));
  return [
    INTRODUCTION,
    "## The machine",
    table([["", ""], ...machineRows(proof.machine)]),
    "## What is claimed, and what runs it again",
    table([["claim", "command"], ...PARTS.flatMap(claimRows)]),
    CLAIMS_ELSEWHERE,
    "## The runs",
    table([
      ["part", "form", "date", "commit", "load", "duration", "exit status"],
      ...runs.map(runRow),
    ]),
    ...runs.flatMap(({ part, run }) => (run === undefined ? [] : [section(part, run)])),
    "",
  ].join("\n\n");
}

const INTRODUCTION = `# Proof

<!-- Written by scripts/proof.ts (npm run proof). Do not edit this page by hand. -->

Every measurement and comparison of these pages, run again by one command. This page and \`docs/proof.json\` are its output.

\`\`\`sh
npm run proof                        # everything; about an hour
npm run proof -- --only check,attack # some parts; the others keep their last results
npm run proof -- --quick             # short forms, in a few minutes
\`\`\`

A part in its **short form** shows that it works, with one round or a few cases; times and CPU of such a run mean nothing, and only \`proof.json\` has them. A part that needs a system program that is not installed is not run, and the table of runs says how to get it. Postgres is started for the run. The parts \`check\`, \`faults\` and \`attack\` also write the pages that they belong to, unless they are in their short form.`;

const CLAIMS_ELSEWHERE = `The long tests behind [the guarantees](guarantees.md) have a command each on that page, and \`npm run test:long\` runs them. Figures in [decisions](decisions/README.md) are those of the day of the decision.`;

function machineRows({ cpu, cores, memory, kernel, node, programs }: Machine): Table {
  return [
    ["CPU", `${cpu}, ${cores} cores`],
    ["memory", memory],
    ["kernel", kernel],
    ["Node", node],
    ...Object.entries(programs),
  ];
}

function claimRows(part: Part): Table {
  return part.claims.map(({ page, words }) => {
    const link = page.startsWith("docs/") ? page.slice("docs/".length) : `../${page}`;
    return [`[${page}](${link}): “${words}”`, `\`${commandOf(part)}\``];
  });
}

function runRow({
  part,
  run,
}: {
  readonly part: Part;
  readonly run: PartRun | undefined;
}): readonly string[] {
  if (run === undefined) return [part.name, "not run", "", "", "", "", ""];
  const { isQuick, at, commit, load, seconds, exitCode, missing } = run;
  if (missing !== undefined) return [part.name, `not run: ${missing}`, at, commit, "", "", ""];
  const status = exitCode === null ? "ended by a signal" : String(exitCode);
  const form = isQuick ? "**short**" : "full";
  return [part.name, form, at, commit, load.toFixed(1), `${seconds} s`, status];
}

function section(part: Part, { name, command, isQuick, results }: PartRun): string {
  const pages = [...new Set(part.claims.map(({ page }) => page))].join(", ");
  const facts = `Part \`${name}\`: \`${command}\`. For ${pages}.`;
  const shown = part.isTimed === true && isQuick ? withoutFigures(results) : results;
  const note = shown === results ? "" : " A short form: this is what ran, without figures.";
  const body = results.length === 0 ? "There are no results." : table(shown);
  return `## ${part.title}\n\n${facts}${note}\n\n${body}`;
}

/** The first column: what was measured. */
function withoutFigures(results: Table): Table {
  return results.map((cells) => cells.slice(0, 1));
}

function table(rows: Table): string {
  const [head = [], ...body] = rows;
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...body.map(line)].join("\n");
}
