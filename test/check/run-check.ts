import type { ProbeResult, Report, Section } from "@convoke/check";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";

/** The output of `convoke check --json`, and its exit code. */
export interface Checked {
  readonly report: Report;
  readonly code: number;
}

/** The messages that the servers of these tests understand. */
export const HABITS = ["--slow", "slow", "--ask", "ask"];

/** Runs `convoke check` in this process. */
export async function check(url: string, ...options: readonly string[]): Promise<Checked> {
  const { code, stdout, stderr } = await runCli(["check", url, "--json", ...options]);
  if (stdout === "") throw new Error(`The check told nothing: ${stderr}`);
  return { report: JSON.parse(stdout) as Report, code };
}

/** All results with one outcome, as `where id`. */
export function idsOf(
  { sections }: Report,
  outcome: ProbeResult["outcome"],
  name?: string,
): readonly string[] {
  return sections
    .filter((section) => name === undefined || section.name === name)
    .flatMap(({ results }) => results.filter((result) => result.outcome === outcome))
    .map(({ id }) => id);
}

/** The section of that name. */
export function sectionOf({ sections }: Report, name: string): Section {
  const section = sections.find((each) => each.name === name);
  if (section === undefined) throw new Error(`There is no section ${name}`);
  return section;
}

/** The result of that probe, where it was tried first. */
export function resultOf(report: Report, id: string, name?: string): ProbeResult {
  const results = report.sections
    .filter((section) => name === undefined || section.name === name)
    .flatMap((section) => section.results);
  const result = results.find((each) => each.id === id);
  if (result === undefined) throw new Error(`There is no result of ${id}`);
  return result;
}

/** Where the checker itself failed, which it never should. */
export function stumbles({ sections }: Report): readonly ProbeResult[] {
  const results = sections.flatMap((section) => section.results);
  return results.filter(({ reason = "" }) => reason.includes("the checker itself failed"));
}
