import { startScriptedModelServer } from "@convoke/runtime/testing";
import { report } from "./control.ts";
import { parseOrder, parseToolTurns, tokensOf } from "./order.ts";

/**
 * Simulates a provider, in a process whose CPU is not counted. The name of its model is its
 * address.
 */
const server = await startScriptedModelServer(({ text, body }) => {
  const turns = parseToolTurns(text);
  if (turns === undefined) return tokensOf(parseOrder(text).count);
  const results = (body["messages"] as readonly { readonly role: string }[]).filter(
    ({ role }) => role === "tool",
  );
  if (results.length === turns.calls) return "Done.";
  return { kind: "tool-call", toolName: "look", input: { at: results.length } };
});
report(server.specs["openai-compatible"]);
