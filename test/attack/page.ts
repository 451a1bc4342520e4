import type { AttackFamily } from "./attack.ts";
import type { AttackResult, Outcome } from "./run-attack.ts";

/** The outcomes of one server, by the id of the attack. */
export interface Column {
  readonly name: string;
  readonly outcomes: ReadonlyMap<string, Outcome>;
}

export function toColumn(name: string, results: readonly AttackResult[]): Column {
  return { name, outcomes: new Map(results.map((one) => [one.attack.id, one])) };
}

const VERDICTS = ["held", "fell", "not applicable"] as const;

/** How often each server held and fell. */
export function countsTable(columns: readonly Column[]): string {
  const rows = columns.map(({ name, outcomes }) => {
    const all = [...outcomes.values()];
    return [
      name,
      ...VERDICTS.map((one) => String(all.filter(({ verdict }) => verdict === one).length)),
    ];
  });
  return markdown(["server", ...VERDICTS], rows);
}

/** One line for each attack of a family. */
export function familyTable({ attacks }: AttackFamily, columns: readonly Column[]): string {
  const rows = attacks.map(({ id, sentence }) => [
    `\`${id}\``,
    sentence,
    ...columns.map(({ outcomes }) => cell(outcomes.get(id))),
  ]);
  return markdown(["attack", "what the attacker tries", ...columns.map(({ name }) => name)], rows);
}

const LONGEST = 100;

function cell(outcome: Outcome | undefined): string {
  if (outcome === undefined) return "not run";
  const { verdict, reason } = outcome;
  if (verdict === "held") return verdict;
  const plain = reason
    .replaceAll(/127\.0\.0\.1:\d+/g, "<server>")
    .replaceAll(/"?\/[\w/.-]*node_modules/g, "…/node_modules")
    .replaceAll(/[|`<>\s]+/g, " ")
    .trim();
  const short = plain.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain;
  return verdict === "fell" ? `**fell**: ${short}` : `n/a: ${short}`;
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
