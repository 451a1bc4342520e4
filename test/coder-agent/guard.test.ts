import type { PolicyDefinition } from "@convoke/coder";
import { EXTENSIONS } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { defineAgent } from "convoke";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { start } from "../harness/program.ts";
import { saying } from "../coder-wire/a-coder-client.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { aNotebook } from "../mcp/a-notebook.ts";
import { ours } from "../mcp/a-world.ts";
import { aFolder, serveCoder } from "./a-coder.ts";

/** Asks for calls that the mode would allow. */
const EVERYTHING = { mode: "full", rules: [{ verdict: "ask", tool: "*" }] } as const;

/** One call of every tool that only reads. */
const READS: Readonly<Record<string, object>> = {
  list_directory: {},
  read_file: { path: "a.txt" },
  search_files: { pattern: "alpha" },
  glob: { pattern: "**" },
  shell_output: { processId: "process-1" },
  shell_kill: { processId: "process-1" },
};

/** One call of every tool that changes or reaches something. */
const CHANGES: Readonly<Record<string, object>> = {
  write_file: { path: "b.txt", content: "b\n" },
  edit_file: { path: "a.txt", edits: [{ oldText: "alpha", newText: "two" }] },
  move_file: { from: "a.txt", to: "c.txt" },
  delete_file: { path: "a.txt" },
  run_shell: { command: "touch d.txt" },
  shell_input: { processId: "process-1", text: "x" },
  fetch_url: { url: "https://127.0.0.1/" },
  helper: { message: "hi" },
  notes__write: {},
};

/** Tools that only talk to the user. */
const HARMLESS = ["update_plan", "ask_user"];

/** A coding agent with a sub-agent and an MCP server, whose model makes calls at the same time. */
async function anAgent(policy: PolicyDefinition, given: Readonly<Record<string, object>>) {
  const folder = aFolder({ "a.txt": "alpha beta\n" });
  const { notes } = await aNotebook();
  const helped: string[] = [];
  const helper = defineAgent({
    name: "Helper",
    description: "Helps.",
    run: ({ text }) => {
      helped.push(text);
      return "Helped.";
    },
  });
  const model = scriptedModel([
    Object.entries(given).map(([name, input]) => calls(name, input)),
    "Done.",
  ]);
  const server = ours("helpful-server", [], { NOTES: notes });
  const mcpServers = { notes: { ...server, allow: ["write"] } };
  const options = { model, policy, subAgents: { helper }, mcpServers };
  const client = (await serveCoder(folder, options)).activating(EXTENSIONS.approvals.uri);
  const asked = await client.send(saying("go"));
  const untouched = (): void => {
    expect(readdirSync(folder.root)).toEqual(["a.txt"]);
    expect(readFileSync(join(folder.root, "a.txt"), "utf8")).toBe("alpha beta\n");
    expect(helped).toEqual([]);
    expect(existsSync(notes)).toBe(false);
  };
  return { client, model, asked, untouched, notes };
}

test.each([
  ["a rule that asks for everything", { ...READS, ...CHANGES }, EVERYTHING],
  ["the mode ask", CHANGES, {}],
] as const)(
  "with %s, no tool runs before its approval, and none that was rejected",
  async (_, guarded, policy) => {
    const { client, model, asked, untouched } = await anAgent(policy, { ...READS, ...CHANGES });

    const approvals = openApprovals(asked);
    const names = approvals.map(({ tool }) => tool.name);
    expect(names.toSorted()).toEqual(Object.keys(guarded).toSorted());
    untouched();
    const answers = approvals.map((approval) => answerTo(approval, { option: "reject" }));
    const { status } = await client.send({ taskId: asked.id, parts: answers });
    expect(status.state).toBe("completed");
    untouched();

    const isReadGuarded = "read_file" in guarded;
    expect(JSON.stringify(model.requests.at(-1)).includes("beta")).toBe(!isReadGuarded);
    const offered = model.requests[0]!.tools.map(({ name }) => name).toSorted();
    expect(offered).toEqual([...Object.keys({ ...READS, ...CHANGES }), ...HARMLESS].toSorted());
  },
);

test("in plan mode, nothing that changes something runs or is asked for", async () => {
  const { fetch_url: _, ...changes } = CHANGES;
  const { asked, model, untouched } = await anAgent({ mode: "plan" }, changes);

  expect(asked.status.state).toBe("completed");
  const denied = "Not run: a rule of this agent does not allow it.";
  expect(resultsTold(model.requests)).toEqual(Object.keys(changes).map(() => denied));
  untouched();
});

test("a command of the caller does not change what a rule denies", async () => {
  const folder = aFolder();
  const rules = [{ verdict: "deny", path: "AGENTS.md" }] as const;
  const client = await serveCoder(folder, { policy: { mode: "full", rules } });

  const { status } = await client.send(saying("/memory add Use tabs"));

  expect(status.state).toBe("rejected");
  expect(readdirSync(folder.root)).toEqual([]);
});

test("the approval of a call to an MCP server has the server, the tool and the arguments", async () => {
  const { client, asked, notes } = await anAgent({}, { notes__write: { text: "hello" } });

  const [approval] = openApprovals(asked);
  expect(approval).toMatchObject({
    risk: "warning",
    prompt: expect.stringContaining('"text": "hello"') as string,
    preview: {
      text: "notes: write",
      metadata: {
        [EXTENSIONS.coder.uri]: { type: "mcp", serverName: "notes", toolName: "write" },
      },
    },
  });
  const parts = [answerTo(approval!, { option: "once" })];
  expect((await client.send({ taskId: asked.id, parts })).status.state).toBe("completed");
  expect(readFileSync(notes, "utf8")).toBe("wrote\n");
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
  await program.until((stdout) => /^Type /m.exec(stdout) ?? undefined);
  program.signal("SIGTERM");
  const { stderr, code: exit } = await program.ended;

  expect(existsSync(marker)).toBe(false);
  expect(stderr).toContain("convoke.config.mjs is in the workspace, so it is not used.");
  expect(exit).toBe(0);
});
