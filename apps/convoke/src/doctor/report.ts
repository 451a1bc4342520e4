import { oneLine, printableJson } from "@convoke/protocol/internal";
import type { CommandContext } from "../terminal/command.ts";
import { type Colours, coloursFor } from "../terminal/output.ts";
import type { Diagnosis, Findings, OnStep } from "./diagnoses.ts";

interface Result {
  readonly title: string;
  readonly verdict: string;
  readonly findings: Findings;
}

/** Prints findings as text, or as an object with --json. */
export function printFindings(
  { io, flag }: CommandContext,
  { title, verdict, findings }: Result,
): void {
  const { diagnoses, passed, skipped } = findings;
  const report = flag("json")
    ? `${printableJson({ examined: title, verdict, diagnoses, passed, skipped })}\n`
    : textReport(title, findings, coloursFor(io, "stdout"));
  io.stdout(report);
}

const CLEAR = "\r\u001B[2K";

/** Shows the current step on a terminal, and removes it at the end. */
export async function withProgress<T>(
  { io }: CommandContext,
  work: (onStep: OnStep) => Promise<T>,
): Promise<T> {
  if (!io.isTTY.stderr) return work(() => undefined);
  try {
    return await work((step) => io.stderr(`${CLEAR}… ${oneLine(step, 70)}`));
  } finally {
    io.stderr(CLEAR);
  }
}

/**
 * The findings as text: what is fine, what could not be examined, and what is wrong with its fix.
 * Text of the server is printed without control characters: it must not control the terminal.
 */
function textReport(title: string, findings: Findings, colours: Colours): string {
  const { passed, skipped, diagnoses } = findings;
  const lines = [
    colours.bold(oneLine(title)),
    ...passed.map((what) => `  ✓ ${oneLine(what)}`),
    ...skipped.map((what) => colours.dim(`  - not examined: ${oneLine(what, MAX_SHOWN)}`)),
    ...diagnoses.map((diagnosis) => diagnosisText(diagnosis, colours)),
    "",
    summary(findings, colours),
  ];
  return `${lines.join("\n")}\n`;
}

/** Longer texts are cut. */
const MAX_SHOWN = 400;

function diagnosisText(diagnosis: Diagnosis, { red, yellow, dim }: Colours): string {
  const { id, severity, where, seen, why, fix } = diagnosis;
  const mark = severity === "problem" ? red("✗") : yellow("!");
  return [
    `  ${mark} ${id}  ${oneLine(where)}`,
    `      ${dim("seen")}  ${oneLine(seen, MAX_SHOWN)}`,
    `      ${dim("why")}   ${why}`,
    `      ${dim("fix")}   ${fix}`,
  ].join("\n");
}

function summary({ diagnoses, passed, skipped }: Findings, { bold, red }: Colours): string {
  const problems = diagnoses.filter(({ severity }) => severity === "problem").length;
  const warnings = diagnoses.length - problems;
  const text = `${counted(problems, "problem")}, ${counted(warnings, "warning")}, ${passed.length} fine, ${skipped.length} not examined`;
  return (problems > 0 ? red : bold)(text);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
