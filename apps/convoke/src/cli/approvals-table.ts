import { ageOf } from "./age.ts";
import type { ApprovalReport } from "./approvals-admin.ts";
import type { Colours } from "./colours.ts";
import { objectField, textField } from "./json-fields.ts";
import { oneLine } from "@convoke/protocol/internal";
import { table } from "./table.ts";

const HEADS = ["ID", "RISK", "WAITS FOR", "TITLE", "CALL"] as const;
const LONGEST_TITLE = 60;
const LONGEST_CALL = 80;

/** Approvals as an aligned table. Ids are whole, because they are there to be copied. */
export function approvalsTable(
  approvals: readonly ApprovalReport[],
  now: number,
  colours: Colours,
): string {
  const rows = approvals.map((approval) => {
    const call = `${textField(approval, "tool")} ${JSON.stringify(objectField(approval, "arguments"))}`;
    return [
      oneLine(textField(approval, "id"), Number.POSITIVE_INFINITY),
      oneLine(textField(approval, "risk")),
      ageOf(textField(approval, "createdAt"), now),
      oneLine(`${whom(approval)}${textField(approval, "title")}`, LONGEST_TITLE),
      oneLine(call, LONGEST_CALL),
    ];
  });
  return table(HEADS, rows, colours);
}

/** The agents that it came through, which a person must know to decide. */
function whom(approval: ApprovalReport): string {
  const from = Array.isArray(approval["from"]) ? (approval["from"] as readonly unknown[]) : [];
  return from.map((origin) => `${textField(origin as ApprovalReport, "name")} › `).join("");
}
