import { coder } from "@convoke/coder";
import type { ModelRequest } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { calls } from "../../loop/scripts.ts";

// The whole coding agent for the folder `work`. `call <tool> <input>` makes its model call a tool,
// and anything else makes it say its name and the tools that it has.

const workspace = join(process.cwd(), "work");
mkdirSync(workspace, { recursive: true });

const turnOf =
  (model: string) =>
  ({ transcript, tools }: ModelRequest) => {
    const last = transcript.at(-1);
    if (last?.role === "tool") {
      return last.results.map(({ output }) => JSON.stringify(output)).join(" ");
    }
    const parts = last?.role === "user" ? last.parts : [];
    const said = parts.findLast((part) => part.kind === "text")?.text ?? "";
    const { name, input } = /^call (?<name>\S+) ?(?<input>.*)$/s.exec(said)?.groups ?? {};
    if (name !== undefined) return calls(name, JSON.parse(input || "{}"));
    return `The model ${model} has ${tools.map((tool) => tool.name).join(" ")}`;
  };

const modelOf = (name: string) => scriptedModel(Array.from({ length: 100 }, () => turnOf(name)));

// oxlint-disable-next-line import/no-default-export
export default coder({
  workspace,
  policy: { maxMode: "full" },
  model: { small: modelOf("small"), large: modelOf("large") },
  modelOptions: {
    contextTokens: 100_000,
    price: { inputPerMillion: 1_000_000, outputPerMillion: 0 },
  },
});
