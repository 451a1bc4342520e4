import { type Task, textOfParts } from "@convoke/protocol";
import type { Colours } from "./colours.ts";
import { wordsOf } from "./outcome.ts";
import { oneLine } from "./printable.ts";

const HEADS = ["TASK", "STATE", "AGE", "FIRST WORDS"] as const;
const LONGEST_WORDS = 50;

/** Tasks as an aligned table. Ids are whole, because they are there to be copied. */
export function taskTable(tasks: readonly Task[], now: number, { dim }: Colours): string {
  const rows = tasks.map((task) => [
    oneLine(task.id),
    task.status.state,
    ageOf(task.status.timestamp, now),
    oneLine(firstWords(task), LONGEST_WORDS),
  ]);
  const widths = HEADS.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return `${[dim(line(HEADS)), ...rows.map(line)].join("\n")}\n`;
}

/** What the task is about: what was asked, or else what the agent says. */
function firstWords({ history, status }: Task): string {
  const asked = history?.find(({ role }) => role === "user");
  return asked === undefined ? wordsOf(status.message) : textOfParts(asked.parts);
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long the task has been in its state, as one rough number. */
function ageOf(timestamp: string | undefined, now: number): string {
  const ageMs = Math.max(0, now - Date.parse(timestamp ?? ""));
  if (Number.isNaN(ageMs)) return "?";
  if (ageMs < MINUTE) return `${Math.floor(ageMs / 1000)}s`;
  if (ageMs < HOUR) return `${Math.floor(ageMs / MINUTE)}m`;
  return ageMs < 2 * DAY ? `${Math.floor(ageMs / HOUR)}h` : `${Math.floor(ageMs / DAY)}d`;
}
