import type { ApprovalWords, ConfirmRule, Confirmation, ConfirmedCall } from "../tools/tool.ts";

/** What the tool's rule says to a call. */
export type Confirmed =
  | { readonly kind: "allow" }
  | { readonly kind: "deny" }
  | { readonly kind: "ask"; readonly words: ApprovalWords };

/** Asks the rule. One that says nothing that we know counts as "ask": never as "allow". */
export async function confirmCall(rule: ConfirmRule, call: ConfirmedCall): Promise<Confirmed> {
  if (rule === "never") return { kind: "allow" };
  const said: Confirmation = rule === "ask" ? "ask" : await rule(call);
  if (said === "allow") return { kind: "allow" };
  if (said === "deny") return { kind: "deny" };
  return { kind: "ask", words: typeof said === "object" && said !== null ? said : {} };
}
