import { type Agent, type ModelSpec } from "convoke";
import { coder } from "convoke/coder";

/** The tools that change a file. */
const CHANGES = ["write_file", "edit_file", "move_file"];

/** A coding agent for a job without a person: it edits files, runs the tests, and nothing else. */
export function repairer(workspace: string, model: ModelSpec): Agent {
  return coder({
    workspace,
    model,
    policy: {
      mode: "auto-edit",
      rules: [
        { verdict: "allow", command: "node --test" },
        // The tests are the specification: an agent that may change them can always make them pass.
        ...CHANGES.map((tool) => ({ verdict: "deny", tool, path: "**/*.test.js" }) as const),
        // What runs in CI decides what CI can do, so people change it.
        { verdict: "deny", path: ".github/**" },
        { verdict: "deny", command: "git" },
      ],
    },
    // No page of the web becomes part of the prompt.
    fetch: false,
    instructions: "The tests of this project fail. Find the mistake in the code, and correct it.",
    budget: { iterations: 20, tokens: 300_000, timeMs: 10 * 60_000 },
  });
}
