import { Policy, createShellTools, openSandbox } from "@convoke/coder";
import { type Model, defineAgent } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { serveAgent } from "../harness/serve-agent.ts";

// An agent that runs one command, approved by its policy, and then says what it was told.

const root = process.env["SHELL_ROOT"]!;
const command = process.env["SHELL_COMMAND"]!;

const model: Model = {
  id: "one-command",
  stream: ({ transcript, ...rest }, signal) => {
    const results = transcript.flatMap((entry) => (entry.role === "tool" ? entry.results : []));
    const turn =
      results.length === 0
        ? ({ kind: "tool-call", toolName: "run_shell", input: { command } } as const)
        : JSON.stringify(results);
    return scriptedModel([turn]).stream({ transcript, ...rest }, signal);
  },
};

const { tools } = createShellTools({
  policy: new Policy({ rules: [{ verdict: "allow", tool: "run_shell" }] }, [root]),
  mode: () => "full",
  roots: [root],
  // Without a real sandbox the command would be asked for.
  sandbox:
    process.env["SHELL_SANDBOX"] === "real"
      ? await openSandbox({ roots: [root], network: false })
      : { wrap: (argv) => argv },
  folder: process.env["SHELL_RECORDS"]!,
});

await serveAgent(
  defineAgent({ name: "Shell", description: "Runs a command.", model, tools: [...tools] }),
  { level: "error" },
);
