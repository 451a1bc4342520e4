import { type Model, type ModelRequest, defineAgent, serve, tool } from "convoke";
import { type ScriptTurn, scriptedModel } from "@convoke/runtime/testing";
import { report } from "./control.ts";

// One agent of a chain: it passes every request on to the next, and the last one executes it if it
// is approved.

const name = process.env["BENCH_NAME"] ?? "";
const next = process.env["BENCH_NEXT"] ?? "";
const isLast = next === "";

/**
 * The time of the execution is returned from agent to agent, so that the first one can report it.
 */
function say({ transcript }: ModelRequest): ScriptTurn {
  const last = transcript.at(-1);
  if (last?.role === "tool") return last.results.map(({ output }) => JSON.stringify(output)).join();
  const toolName = isLast ? "act" : "next";
  const input = isLast ? { calledAt: Date.now() } : { message: "go" };
  return { kind: "tool-call", toolName, input };
}

const model: Model = {
  id: "scripted",
  stream: (request, signal) => scriptedModel([say]).stream(request, signal),
};
const act = tool({
  name: "act",
  description: "Does something after it was approved.",
  inputSchema: { type: "object", properties: { calledAt: { type: "number" } } },
  confirm: "ask",
  run: () => `acted at ${Date.now()}`,
});

const agent = defineAgent({
  name,
  description: "Passes work on.",
  model,
  ...(isLast ? { tools: [act] } : { subAgents: { next } }),
});
const server = await serve(agent, { port: 0, data: process.env["BENCH_DATA"] ?? "" });
report(server.url);
