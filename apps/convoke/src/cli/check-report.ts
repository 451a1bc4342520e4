import { writeFile } from "node:fs/promises";
import {
  LEVELS,
  type Level,
  type ProbeResult,
  type Results,
  type Section,
  junitReport,
  markdownReport,
  meetsLevel,
} from "@convoke/check";
import { oneLine } from "@convoke/protocol/internal";
import { type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { type Colours, coloursFor, table } from "../terminal/output.ts";

/** What was checked. */
interface Subject {
  readonly kind: "server" | "client";
  /** The lines above the report. */
  readonly head: (colours: Colours) => string;
}

/** Prints the report and writes it to files, as the options say. Resolves to the exit code. */
export async function report(
  context: CommandContext,
  results: Results,
  subject: Subject,
): Promise<number> {
  const { io } = context;
  const colours = coloursFor(io, "stdout");
  const options = { verbose: context.flag("verbose"), colours, ...subject };
  io.stdout(context.flag("json") ? `${JSON.stringify(results)}\n` : textReport(results, options));
  await writeReport(context, "junit", junitReport(results));
  await writeReport(context, "markdown", markdownReport(results));
  const level = readLevel(context);
  const isFailed = LEVELS.some((each) => meetsLevel(each, level) && results.failures[each] > 0);
  return isFailed ? EXIT.taskFailed.code : EXIT.done.code;
}

/** The weakest level that counts as a failure. */
export function readLevel({ text }: CommandContext): Level {
  const value = text("level")?.toUpperCase() ?? "MUST";
  const level = LEVELS.find((each) => each === value);
  if (level !== undefined) return level;
  const choices = LEVELS.map((each) => each.toLowerCase()).join(", ");
  throw new UsageError(`--level must be one of ${choices}, not "${value.toLowerCase()}".`);
}

async function writeReport(
  { text }: CommandContext,
  option: "junit" | "markdown",
  content: string,
): Promise<void> {
  const file = text(option);
  if (file === undefined) return;
  try {
    await writeFile(file, content);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--${option} could not be written: ${why}.`);
  }
}

interface TextOptions extends Subject {
  /** Whether to list passed and skipped probes as well. */
  readonly verbose: boolean;
  readonly colours: Colours;
}

/**
 * The report as text: counts, every failure in full, and a summary of what was not tested. All text
 * of the other side is printed without control characters: it must not control the terminal.
 */
function textReport(results: Results, options: TextOptions): string {
  const { colours, head, verbose } = options;
  const blocks = [
    head(colours),
    overview(results, options),
    ...results.sections.map((section) => details(section, options)),
    verbose ? "" : notTestedSummary(results, options),
    `${verdict(results, colours)}\n`,
  ];
  return blocks.filter((block) => block !== "").join("\n");
}

function overview({ sections }: Results, { colours, kind }: TextOptions): string {
  // All probes of a client are in one place.
  const address = (value: string) => (kind === "server" ? [value] : []);
  const rows = sections.map((section) => [
    oneLine(section.name),
    ...address(oneLine(section.url)),
    String(section.counts.passed),
    failuresOf(section),
    section.skipped === undefined ? String(section.counts.skipped) : "all",
  ]);
  const heads = ["WHERE", ...address("ADDRESS"), "PASSED", "FAILED", "NOT TESTED"];
  return table(heads, rows, colours);
}

/** Such as `3 (1 MUST, 2 SHOULD)`. */
function failuresOf({ results, counts }: Section): string {
  if (counts.failed === 0) return "0";
  const failed = results.filter(({ outcome }) => outcome === "failed");
  return `${counts.failed} (${byLevel((level) => failed.filter((each) => each.level === level).length)})`;
}

function byLevel(count: (level: Level) => number): string {
  return LEVELS.filter((level) => count(level) > 0)
    .map((level) => `${count(level)} ${level}`)
    .join(", ");
}

function details(section: Section, options: TextOptions): string {
  const { verbose, colours, kind } = options;
  const { name, url, skipped, results } = section;
  const where = kind === "server" ? `${oneLine(name)} at ${oneLine(url)}` : oneLine(name);
  const head = colours.bold(where);
  if (skipped !== undefined) {
    return verbose ? `${head}\n  not tested: ${withFlags(skipped)}\n` : "";
  }
  const failed = results.filter(({ outcome }) => outcome === "failed");
  const passed = verbose ? results.filter(({ outcome }) => outcome === "passed") : [];
  const lines = [
    ...passed.map(({ id, says }) => `  passed  ${id}  ${says}`),
    ...failed.map((result) => failure(result, options)),
    ...(verbose ? notTested(results, colours) : []),
  ];
  return lines.length === 0 ? "" : `${head}\n${lines.join("\n")}\n`;
}

/** Longer texts are cut. */
const MAX_SHOWN = 600;

function failure(result: ProbeResult, { colours, kind }: TextOptions): string {
  const { id, level, section, says, sent = "", received = "", expected = "" } = result;
  const { red, yellow, dim } = colours;
  const isWarning = kind === "client" && level !== "MUST";
  return [
    `  ${isWarning ? yellow("WARNING") : red("FAILED")}  ${id}  ${level}  ${section}`,
    `          ${says}`,
    `          ${dim("sent")}      ${oneLine(sent, MAX_SHOWN)}`,
    `          ${dim("received")}  ${oneLine(received, MAX_SHOWN)}`,
    `          ${dim("expected")}  ${oneLine(expected, MAX_SHOWN)}`,
  ].join("\n");
}

/** A line for each option that would test more, and the number of all others. */
function notTestedSummary({ sections, counts }: Results, { colours, kind }: TextOptions): string {
  const { dim, bold } = colours;
  const reasons = [
    ...sections.flatMap(({ results }) => results.filter(({ outcome }) => outcome === "skipped")),
    ...sections.flatMap(({ skipped }) =>
      skipped === undefined ? [] : [{ reason: `whole interfaces: ${skipped}` }],
    ),
  ].map(({ reason = "" }) => reason);
  if (reasons.length === 0) return "";
  const isHelpful = (reason: string) => kind === "client" || reason.includes("(option: ");
  const helpful = reasons.filter(isHelpful);
  const lines = [...Map.groupBy(helpful, (reason) => reason)]
    .toSorted(([, some], [, others]) => others.length - some.length)
    .map(([reason, all]) => `  ${String(all.length).padStart(4)}  ${withFlags(reason)}`);
  const others = reasons.length - helpful.length;
  if (others > 0) lines.push(`  ${String(others).padStart(4)}  do not apply to this server`);
  const head = bold(`Not tested: ${counts.skipped} probes`);
  return `${head}\n${lines.join("\n")}\n${dim("  --verbose lists each of them.")}\n`;
}

/** One line for each reason, with the probes that were skipped for it. */
function notTested(results: readonly ProbeResult[], { dim }: Colours): readonly string[] {
  const skipped = results.filter(({ outcome }) => outcome === "skipped");
  const byReason = Map.groupBy(skipped, ({ reason = "" }) => reason);
  return [...byReason].map(([reason, entries]) => {
    const ids = entries.map(({ id }) => id).join(", ");
    return `  ${dim("not tested")}  ${withFlags(reason)}\n              ${dim(ids)}`;
  });
}

/** The reason with the flags of this command instead of the options of the kit. */
function withFlags(reason: string): string {
  return oneLine(reason).replace(/\(option: ([a-z\d-]+)\)/, (_, name: string) =>
    name === "credentials" ? "(--token, --header)" : `(--${name})`,
  );
}

function verdict({ counts, failures }: Results, { bold, red }: Colours): string {
  const told = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} not tested`;
  const by = counts.failed === 0 ? "" : `: ${byLevel((level) => failures[level])}`;
  return (counts.failed === 0 ? bold : red)(`${told}${by}`);
}
