import { ageOf } from "./age.ts";
import type { Colours } from "./colours.ts";
import { textField } from "./json-fields.ts";
import { oneLine } from "@convoke/protocol/internal";
import type { PushReport } from "./push-admin.ts";
import { table } from "./table.ts";

const HEADS = ["TASK", "CONFIG", "RECEIVER", "FAILING FOR", "WHY"] as const;
const LONGEST_PROBLEM = 80;

/** Push configs as an aligned table. Ids are whole, because they are there to be copied. */
export function pushTable(pushes: readonly PushReport[], now: number, colours: Colours): string {
  const rows = pushes.map((push) => {
    const since = textField(push, "failingSince");
    return [
      oneLine(textField(push, "taskId")),
      oneLine(textField(push, "id")),
      oneLine(textField(push, "url")),
      since === "" ? "" : ageOf(since, now),
      oneLine(textField(push, "problem"), LONGEST_PROBLEM),
    ];
  });
  return table(HEADS, rows, colours);
}
