import type { Colours } from "../colours.ts";
import { table } from "../table.ts";
import { oneLine } from "@convoke/protocol/internal";
import { type Level, LEVELS, type ProbeResult, type Report, type Section } from "@convoke/check";

interface TextOptions {
  /** Lists what passed as well. */
  readonly verbose: boolean;
  readonly colours: Colours;
}

/** The report for people: the counts, every failure in full, and in short what was not tested. */
export function tableReport(report: Report, options: TextOptions): string {
  const { colours } = options;
  const { name, version } = report.agent;
  const who = oneLine(`${name} ${version}`) || "An agent without a name";
  const blocks = [
    `${colours.bold(who)}\ncard at ${oneLine(report.cardUrl)}\n`,
    overview(report, colours),
    ...report.sections.map((section) => details(section, options)),
    `${verdict(report, colours)}\n`,
  ];
  return blocks.filter((block) => block !== "").join("\n");
}

function overview({ sections }: Report, colours: Colours): string {
  const rows = sections.map((section) => [
    oneLine(section.name),
    oneLine(section.url),
    String(section.counts.passed),
    failuresOf(section),
    section.skipped === undefined ? String(section.counts.skipped) : "all",
  ]);
  return table(["WHERE", "ADDRESS", "PASSED", "FAILED", "NOT TESTED"], rows, colours);
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

function details(section: Section, { verbose, colours }: TextOptions): string {
  const { name, url, skipped, results } = section;
  const head = colours.bold(`${oneLine(name)} at ${oneLine(url)}`);
  if (skipped !== undefined) return `${head}\n  not tested: ${oneLine(skipped)}\n`;
  const failed = results.filter(({ outcome }) => outcome === "failed");
  const passed = verbose ? results.filter(({ outcome }) => outcome === "passed") : [];
  const lines = [
    ...passed.map(({ id, says }) => `  passed  ${id}  ${says}`),
    ...failed.map((result) => failure(result, colours)),
    ...notTested(results, colours),
  ];
  return lines.length === 0 ? "" : `${head}\n${lines.join("\n")}\n`;
}

function failure(result: ProbeResult, { red, dim }: Colours): string {
  const { id, level, section, says, sent = "", received = "", expected = "" } = result;
  return [
    `  ${red("FAILED")}  ${id}  ${level}  ${section}`,
    `          ${says}`,
    `          ${dim("sent")}      ${sent}`,
    `          ${dim("received")}  ${received}`,
    `          ${dim("expected")}  ${expected}`,
  ].join("\n");
}

/** One line for each reason, with what it kept from being tested. */
function notTested(results: readonly ProbeResult[], { dim }: Colours): readonly string[] {
  const skipped = results.filter(({ outcome }) => outcome === "skipped");
  const byReason = Map.groupBy(skipped, ({ reason = "" }) => reason);
  return [...byReason].map(([reason, entries]) => {
    const ids = entries.map(({ id }) => id).join(", ");
    return `  ${dim("not tested")}  ${oneLine(reason)}\n              ${dim(ids)}`;
  });
}

function verdict({ counts, failures }: Report, { bold, red }: Colours): string {
  const told = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} not tested`;
  const by = counts.failed === 0 ? "" : `: ${byLevel((level) => failures[level])}`;
  return (counts.failed === 0 ? bold : red)(`${told}${by}`);
}
