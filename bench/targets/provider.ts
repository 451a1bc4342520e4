import { startScriptedModelServer } from "@convoke/runtime/testing";
import { report } from "./control.ts";
import { parseOrder, tokensOf } from "./order.ts";

/** Plays a provider, in a process whose CPU is not counted. Its address is the name of its model. */
const server = await startScriptedModelServer(({ text }) => ({
  kind: "text",
  text: tokensOf(parseOrder(text).count),
}));
report(server.specs["openai-compatible"]);
