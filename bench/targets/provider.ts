import { startScriptedModelServer } from "@convoke/runtime/testing";
import { report } from "./control.ts";
import { parseOrder, tokensOf } from "./order.ts";

/**
 * Simulates a provider, in a process whose CPU is not counted. The name of its model is its
 * address.
 */
const server = await startScriptedModelServer(({ text }) => ({
  kind: "text",
  text: tokensOf(parseOrder(text).count),
}));
report(server.specs["openai-compatible"]);
