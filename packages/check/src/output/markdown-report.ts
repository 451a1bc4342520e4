import { oneLine } from "@convoke/protocol/internal";
import type { ProbeResult, Results, Section } from "./report.ts";

/** The report as Markdown: a table of counts, then every failure, then what was not tested. */
export function markdownReport({ sections }: Results): string {
  const rows = sections.map(({ name, counts, skipped }) => [
    cell(name),
    String(counts.passed),
    String(counts.failed),
    skipped === undefined ? String(counts.skipped) : "all",
  ]);
  const blocks = [
    table(["where", "passed", "failed", "not tested"], rows),
    ...sections.flatMap(details),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function details({ name, results, skipped }: Section): readonly string[] {
  const failed = results.filter(({ outcome }) => outcome === "failed");
  const reasons = Map.groupBy(
    results.filter(({ outcome }) => outcome === "skipped"),
    ({ reason = "" }) => reason,
  );
  const notTested = [
    ...(skipped === undefined ? [] : [`- all: ${text(skipped)}`]),
    ...[...reasons].map(
      ([reason, all]) => `- ${text(reason)}: ${all.map(({ id }) => `\`${id}\``).join(", ")}`,
    ),
  ];
  if (failed.length === 0 && notTested.length === 0) return [];
  return [
    `## ${text(name)}`,
    ...failed.map(failure),
    ...(notTested.length === 0 ? [] : [`Not tested:\n\n${notTested.join("\n")}`]),
  ];
}

function failure(result: ProbeResult): string {
  const { id, level, section, says, sent = "", received = "", expected = "" } = result;
  return [
    `**${id}** (${level}, ${section}): ${text(says)}\n`,
    `- sent: ${code(sent)}`,
    `- received: ${code(received)}`,
    `- expected: ${text(expected)}`,
  ].join("\n");
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

function cell(value: string): string {
  return text(value).replaceAll("|", String.raw`\|`);
}

/** Text of others on one line, without what Markdown or HTML would interpret. */
function text(value: string): string {
  return oneLine(value).replaceAll(/[\\`*_[\]<>&{}#]/g, (character) => `\\${character}`);
}

/** Longer texts are cut. */
const MAX_SHOWN = 300;

/** Code on one line; a backtick in it would end it. */
function code(value: string): string {
  return `\`${oneLine(value, MAX_SHOWN).replaceAll("`", "'")}\``;
}
