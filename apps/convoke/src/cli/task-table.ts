import { type Task, textOfParts } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import { ageOf } from "./age.ts";
import type { Colours } from "./colours.ts";
import { wordsOf } from "./outcome.ts";
import { table } from "./table.ts";

const HEADS = ["TASK", "STATE", "AGE", "FIRST WORDS"] as const;
const LONGEST_WORDS = 50;

/** Tasks as an aligned table. Ids are whole, because they are there to be copied. */
export function taskTable(tasks: readonly Task[], now: number, colours: Colours): string {
  const rows = tasks.map((task) => [
    oneLine(task.id),
    task.status.state,
    ageOf(task.status.timestamp, now),
    oneLine(firstWords(task), LONGEST_WORDS),
  ]);
  return table(HEADS, rows, colours);
}

/** What the task is about: what was asked, or else what the agent says. */
function firstWords({ history, status }: Task): string {
  const asked = history?.find(({ role }) => role === "user");
  return asked === undefined ? wordsOf(status.message) : textOfParts(asked.parts);
}
