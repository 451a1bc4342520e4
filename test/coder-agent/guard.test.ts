import { scriptedModel } from "@convoke/runtime/testing";
import { defineAgent } from "convoke";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { start } from "../harness/program.ts";
import { saying } from "../coder-wire/a-coder-client.ts";
import { calls } from "../loop/scripts.ts";
import { aFolder, serveCoder } from "./a-coder.ts";

/** One call of every tool that reads, changes or reaches something. */
const CALLS: Readonly<Record<string, object>> = {
  list_directory: {},
  read_file: { path: "a.txt" },
  search_files: { pattern: "alpha" },
  glob: { pattern: "**" },
  write_file: { path: "b.txt", content: "b\n" },
  edit_file: { path: "a.txt", edits: [{ oldText: "alpha", newText: "two" }] },
  move_file: { from: "a.txt", to: "c.txt" },
  delete_file: { path: "a.txt" },
  run_shell: { command: "touch d.txt" },
  shell_output: { processId: "process-1" },
  shell_input: { processId: "process-1", text: "x" },
  shell_kill: { processId: "process-1" },
  fetch_url: { url: "https://127.0.0.1/" },
  helper: { message: "hi" },
};

/** Tools that only talk to the user. */
const HARMLESS = ["update_plan", "ask_user"];

describe("with a rule that asks for everything", () => {
  const policy = { mode: "full", rules: [{ verdict: "ask", tool: "*" }] } as const;
  const helped: string[] = [];
  const helper = defineAgent({
    name: "Helper",
    description: "Helps.",
    run: ({ text }) => {
      helped.push(text);
      return "Helped.";
    },
  });

  test("no tool runs before its approval, and none that was rejected", async () => {
    const folder = aFolder({ "a.txt": "alpha beta\n" });
    const script = Object.entries(CALLS).flatMap(([name, input]) => [calls(name, input), "Done."]);
    const model = scriptedModel(script);
    const client = await serveCoder(folder, { model, policy, subAgents: { helper } });

    for (const name of Object.keys(CALLS)) {
      const asked = await client.send(saying("go"));
      expect(asked.status.state, name).toBe("input-required");
      const { status } = await client.send({ taskId: asked.id, ...saying("reject") });
      expect(status.state, name).toBe("completed");
      expect(JSON.stringify(model.requests.at(-1)), name).not.toContain("beta");
    }

    expect(readdirSync(folder.root)).toEqual(["a.txt"]);
    expect(readFileSync(join(folder.root, "a.txt"), "utf8")).toBe("alpha beta\n");
    expect(helped).toEqual([]);
    const offered = model.requests[0]!.tools.map(({ name }) => name).toSorted();
    expect(offered).toEqual([...Object.keys(CALLS), ...HARMLESS].toSorted());
  });
});

const CONVOKE = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

test("files of the workspace do not run when the agent is started in it", async () => {
  const { root } = aFolder();
  const marker = join(root, "it-ran");
  const code = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(marker)}, "");`;
  writeFileSync(join(root, "convoke.config.mjs"), `${code} export default {};`);
  writeFileSync(join(root, ".env"), "CODER_AGENT_PORT=broken");

  const args = ["--conditions=@convoke/source", CONVOKE, "code", "--port", "0", "--data", "memory"];
  const program = start(process.execPath, args, { cwd: root });
  await program.until((stdout) => /Press Ctrl\+C to stop/.exec(stdout) ?? undefined);
  program.signal("SIGTERM");
  const { stderr, code: exit } = await program.ended;

  expect(existsSync(marker)).toBe(false);
  expect(stderr).toContain("convoke.config.mjs is in the workspace, so it is not used.");
  expect(exit).toBe(0);
});
