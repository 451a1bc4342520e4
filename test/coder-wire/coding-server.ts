import type { ModelRequest } from "@convoke/runtime";
import { type ScriptedTurn, scriptedModel } from "@convoke/runtime/testing";
import { serveAgent } from "../harness/serve-agent.ts";
import { calls } from "../loop/scripts.ts";
import { codingAgent } from "./a-coding-agent.ts";

/** The model calls a tool that needs approval, and is done when it has the result. */
const turn: ScriptedTurn = ({ transcript }: ModelRequest) =>
  transcript.at(-1)?.role === "tool"
    ? "Done."
    : calls("write_file", { path: "/project/a.ts", content: "two\n" }, "c1");

await serveAgent(codingAgent(scriptedModel([turn, turn])));
