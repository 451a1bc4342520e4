import { Checkpoints, PLAN_NOTE, Workspace, createFileTools, withDialects } from "@convoke/coder";
import {
  type ModelRequest,
  type TranscriptEntry,
  defineAgent,
  inputRequired,
  tool,
} from "@convoke/runtime";
import { type ScriptedTurn, scriptedModel } from "@convoke/runtime/testing";
import { appendFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { calls } from "../../loop/scripts.ts";

// A coding agent with the real file tools for the folder `work`. The words of the user choose what
// its model does.

// Standard output belongs to the protocol, so this must not reach it.
// oxlint-disable-next-line no-console
console.log("loaded");

const folder = process.cwd();
const root = join(folder, "work");
await mkdir(root, { recursive: true });
const workspace = await Workspace.open({ roots: [root] });
const data = join(folder, "checkpoints");
const checkpoints = await Checkpoints.open({ workspace, folder: data });

const fileTools = createFileTools({
  workspace,
  checkpoints,
  folder: data,
  policy: ({ kind, preview }) => (kind === "read" ? "allow" : { ...(preview && { preview }) }),
});

const text = { type: "object", properties: { text: { type: "string" } } } as const;

const plan = tool({
  name: "update_plan",
  description: "Notes the plan.",
  inputSchema: text,
  *run() {
    const entries = [{ content: "Write the file", status: "in_progress", priority: "high" }];
    yield { kind: "tool:note", name: PLAN_NOTE, data: entries };
    return "noted";
  },
});

const build = tool({
  name: "run_build",
  description: "Prints, and then runs until it is canceled or killed.",
  inputSchema: text,
  async *run(_input, { signal }) {
    yield "compiling\n";
    appendFileSync(join(folder, "builds"), "started\n");
    await new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
    });
  },
});

const askUser = tool({
  name: "ask_user",
  description: "Asks the user.",
  inputSchema: text,
  run: (_input, { answers }) => {
    const answer = answers.get("colour");
    if (answer !== undefined) return `It is ${answer.text}`;
    const options = ["red", "blue"];
    return inputRequired("Which colour?", { requestId: "colour", options });
  },
});

const write = (path: string, content: string) => calls("write_file", { path, content });

const turn: ScriptedTurn = ({ transcript }: ModelRequest) => {
  const last = transcript.at(-1);
  if (last?.role === "tool") {
    const results = resultsOf(last);
    return results.includes("one") ? write("a.txt", "two\n") : `Done: ${results}`;
  }
  const parts = last?.role === "user" ? last.parts : [];
  // After a canceled task, the messages of both tasks are one entry.
  const said = parts.findLast((part) => part.kind === "text")?.text ?? "";
  if (said.startsWith("edit")) {
    const thought = { kind: "reasoning", text: "**Plan** I write the file." } as const;
    return [thought, calls("update_plan"), calls("read_file", { path: "a.txt" })];
  }
  if (said.startsWith("both")) return [write("b.txt", "B\n"), write("c.txt", "C\n")];
  if (said.startsWith("build")) return calls("run_build");
  if (said.startsWith("ask")) return calls("ask_user");
  if (said.startsWith("talk")) return [{ kind: "text", text: "So" }, finish("length")];
  if (said.startsWith("swear")) return finish("content-filter");
  if (said.startsWith("break")) return { kind: "error", status: 400, message: "no such model" };
  return `You sent ${JSON.stringify(parts)}`;
};

function finish(reason: "length" | "content-filter") {
  return { kind: "finish", reason } as const;
}

function resultsOf(entry: Extract<TranscriptEntry, { role: "tool" }>): string {
  return entry.results.map(({ output }) => JSON.stringify(output)).join(" ");
}

// oxlint-disable-next-line import/no-default-export
export default withDialects(
  defineAgent({
    name: "Coder",
    description: "Writes files",
    inputModes: ["text/plain", "image/png"],
    model: scriptedModel(Array.from({ length: 100 }, () => turn)),
    tools: [...fileTools, plan, build, askUser],
  }),
  { commands: () => [{ name: "mode", description: "Changes the mode", arguments: [] }] },
);
