import { AgentCatalog, MemoryCatalogStore } from "@convoke/host";
import { createJsonLogger } from "@convoke/engine";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentServer, serve } from "../host/serve-agent.ts";
import { aHome } from "./testing/at-terminal.suite.ts";
import { type Finished, runCli } from "./testing/run-cli.suite.ts";
import { serveDemo } from "./testing/serve-demo.suite.ts";

let server: AgentServer;

beforeAll(async () => {
  const catalog = await AgentCatalog.open({
    entries: { poet: { description: "Writes.", model: "demo" } },
    store: new MemoryCatalogStore(),
    allowProcesses: true,
    loadModule: () => Promise.reject(new TypeError("there are no modules")),
  });
  server = await serve(catalog.agents, {
    port: 0,
    data: "memory",
    logger: createJsonLogger("silent", () => undefined),
    manageAgents: (agents, logger) => catalog.manage(agents, logger),
  });
});

afterAll(() => server.close());

const run = (verb: string, ...args: readonly string[]): Promise<Finished> =>
  runCli(["agents", verb, server.url, ...args]);

test("an operator adds, edits, disables, enables and removes an agent of a running server", async () => {
  const file = join(aHome(), "bard.json");
  writeFileSync(file, `{"description": "Sings.", "model": ["demo"]}`);

  const added = await run("add", "bard", "--file", file, "--name", "The bard");
  expect(added).toEqual({ code: 0, stdout: "Added: bard\n", stderr: "" });
  const edited = await run("edit", "bard", "--description", "Rhymes.", "--json");
  expect(JSON.parse(edited.stdout)).toMatchObject({ name: "The bard", description: "Rhymes." });
  const replaced = await run("edit", "bard", "--file", file, "--replace", "--json");
  expect(JSON.parse(replaced.stdout)).toMatchObject({ name: "bard", description: "Sings." });

  expect((await run("disable", "bard")).stdout).toBe("Disabled: bard\n");
  expect((await run("status")).stdout).toMatch(/^bard +model +api +disabled +0 +Sings\.$/m);
  expect((await run("enable", "bard")).stdout).toBe("Enabled: bard\n");
  expect((await run("remove", "bard")).stdout).toBe("Removed: bard\n");
  expect((await run("status")).stdout).not.toContain("bard");
});

test("a program is added by its command line", async () => {
  const line = `npx -y "@agentclientprotocol/codex-acp"`;
  await run("add", "codex", "--process", line, "--workspace", "/tmp");

  const { stdout } = await run("status", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ agents: [{}, { id: "codex", kind: "process" }] });
  await run("remove", "codex");
});

test.each([
  [["add"], 2, "The id of the agent is missing; convoke agents status http"],
  [["edit", "poet"], 2, "Nothing is given to change."],
  [["add", "bard", "--file", "/nowhere.json"], 2, "--file: /nowhere.json cannot be read."],
  [["add", "bard", "--process", " "], 2, "--process needs a program."],
  [["add", "poet", "--model", "demo"], 3, 'there is an agent "poet" already'],
  [["disable", "nobody"], 3, 'there is no agent "nobody" here'],
])("agents %j exits with %i", async ([verb, ...args], code, problem) => {
  const finished = await run(verb!, ...args);

  expect(finished.stderr).toContain(problem);
  expect(finished.code).toBe(code);
});

test("a server of a single agent says that its agents cannot be changed", async () => {
  const { url } = await serveDemo();

  const { code, stderr } = await runCli(["agents", "status", url]);

  expect(stderr).toContain("it may serve a single agent, or have the API switched off");
  expect(code).toBe(3);
});
