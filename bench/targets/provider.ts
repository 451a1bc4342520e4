import { startScriptedModelServer } from "@convoke/runtime/testing";
import { report } from "./control.ts";
import { parseToolTurns } from "./order.ts";

/**
 * Simulates a provider whose model calls tools, in a process whose CPU is not counted. The name of
 * its model is its address.
 */
const server = await startScriptedModelServer(({ text, body }) => {
  const calls = parseToolTurns(text)?.calls ?? 0;
  const results = (body["messages"] as readonly { readonly role: string }[]).filter(
    ({ role }) => role === "tool",
  );
  if (results.length === calls) return "Done.";
  return { kind: "tool-call", toolName: "look", input: { at: results.length } };
});
report(server.specs["openai-compatible"]);
