import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPostgresBackend } from "@convoke/backends/postgres";
import { type AgentServer, connect, defineAgent, serve } from "convoke";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { memoryLogger } from "../engine/an-engine.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { aTalker } from "../host/three-agents.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

// What a server of 61b3c322 has stored, whose operators had added bard, line-echo and asker, changed
// poet, replaced critic, and disabled greeter and critic. Every secret contains "hunter2".
const STORED = new URL("agents-61b3c322/", import.meta.url);

const address = needsPostgres();

function aFolder(): string {
  const folder = temporaryFolder();
  cpSync(new URL("agents.json", STORED), join(folder, "agents.json"));
  return folder;
}

async function aDatabase(): Promise<string> {
  const url = await address();
  await (await openPostgresBackend({ url })).close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  const sql = readFileSync(new URL("kv.sql", STORED), "utf8");
  await client.query(sql.replace("@", new URL(url).searchParams.get("schema")!));
  return url;
}

/** A configuration with the agents that the server had from the beginning, and more. */
function aConfig(more = ""): string {
  const file = join(temporaryFolder(), "convoke.config.mjs");
  const agent = `{ description: "Is there.", model: "demo" }`;
  writeFileSync(
    file,
    `export default { agents: { greeter: ${agent}, poet: ${agent}, critic: ${agent}, ${more} } };`,
  );
  return file;
}

const asker = defineAgent({
  name: "Asker",
  description: "Asks.",
  run: async ({ ask }) => `heard ${await ask("Which?")}`,
});

describe.each([
  ["a folder", async () => ({ data: aFolder() })],
  ["a database", async () => ({ database: await aDatabase() })],
] as const)("agents that %s has from an earlier version", (_, aStorage) => {
  const flags = (storage: object): readonly string[] =>
    Object.entries(storage).flatMap(([name, value]) => [`--${name}`, String(value)]);

  test("are named without their values by a server that does not start, and nothing is deleted", async () => {
    const storage = await aStorage();

    const start = ["serve", "--config", aConfig(), "--port", "0", ...flags(storage)];
    const { code, stderr } = await runCli(start);

    expect(code).toBe(5);
    expect(stderr).toContain(
      "bard (definition: description, model, instructions, mcpServers, subAgents, budget), " +
        "line-echo (definition: command, args, protocol, workspace, env), asker (definition: module), " +
        "poet (changes: instructions, temperature), greeter (disabled), " +
        "critic (definition: description, model; disabled)",
    );
    expect(stderr).toContain("then start once with --stored-agents-taken-over.");
    expect(stderr).not.toContain("hunter2");
    expect((await runCli(start)).code).toBe(5);

    const stop = new AbortController();
    const onStdout = (): void => stop.abort();
    const takenOver = [...start, "--stored-agents-taken-over"];
    const { stdout } = await runCli(takenOver, { signal: stop.signal, onStdout });
    expect(stdout).toMatch(/\/agents\/greeter, also at .*, disabled$/m);
    expect(stdout).toMatch(/\/agents\/poet$/m);
    expect(stdout).toMatch(/\/agents\/critic, disabled$/m);
  });

  test("are printed as code that reads secrets from the environment, and runs", async () => {
    const [place = ""] = Object.values(await aStorage());

    const { code, stdout } = await runCli(["agents", "stored", place]);

    expect(code).toBe(0);
    expect(stdout).not.toContain("hunter2");
    expect(stdout).toContain("BARD_SUB_AGENTS_PLAIN: agents.bard.definition.subAgents.plain\n");
    const file = join(temporaryFolder(), "printed.mjs");
    writeFileSync(file, `process.env.LINE_ECHO_ENV_MODE = "set";\nexport default { ${stdout} };`);
    const { default: config } = (await import(file)) as { default: object };
    expect(config).toEqual({
      agents: {
        bard: {
          description: 'Sings "odes".',
          model: ["demo"],
          instructions: "Sing.\nLoudly.",
          mcpServers: {
            "word-list": { url: "https://words.example.com/mcp", headers: { authorization: "" } },
            open: { url: "" },
          },
          subAgents: { critic: { url: "https://critic.example.com/", token: "" }, plain: "" },
          budget: { iterations: 10 },
        },
        "line-echo": {
          command: "node",
          args: ["lines.mjs", "--api-key", ""],
          protocol: "json-lines",
          workspace: "/srv/echo",
          env: { ECHO_KEY: "", MODE: "set" },
        },
        asker: { module: "./asker.mjs" },
        poet: { instructions: "Write haiku." },
        critic: { description: "Judges mildly.", model: "demo" },
      },
    });
  });

  test("let a server start for ever once they are taken over, with their tasks and what is disabled", async () => {
    const storage = await aStorage();
    const started = async (options: { readonly storedAgentsTakenOver?: true } = {}) => {
      const agents = [aTalker("Greeter"), aTalker("Critic"), asker];
      const logger = memoryLogger();
      const server = await serve(agents, { port: 0, logger, ...storage, ...options });
      onTestFinished(() => server.close());
      return server;
    };
    const disabled = ({ agents }: AgentServer): readonly string[] =>
      [...agents].filter(({ isEnabled }) => !isEnabled).map(({ id }) => id);
    await expect(started()).rejects.toThrow("then set storedAgentsTakenOver: true");

    const first = await started({ storedAgentsTakenOver: true });
    expect(disabled(first)).toEqual(["greeter", "critic"]);
    const enabling = await fetch(`${first.url}convoke/agents/critic:enable`, { method: "POST" });
    expect(enabling.status).toBe(200);
    const asked = await (await connect(`${first.url}agents/asker`)).send("hello");
    await first.close();

    const second = await started();
    expect(disabled(second)).toEqual(["greeter"]);
    const remote = await connect(`${second.url}agents/asker`);
    const { text } = await remote.send("this one", { taskId: asked.task!.id });
    expect(text).toBe("heard this one");
    const printed = await runCli(["agents", "stored", Object.values(storage)[0]!]);
    expect(printed.stdout).toContain("critic: {");
  });
});

test("a database that has nothing to take over is said to have nothing", async () => {
  const { code, stdout } = await runCli(["agents", "stored", await address()]);

  expect([code, stdout]).toEqual([0, "Nothing is stored that has to be taken over.\n"]);
});

test.each([
  [["agents", "add", "http://127.0.0.1:3000", "poet", "--model", "demo"], 2, "agents add was"],
  [["agents", "edit", "http://127.0.0.1:3000", "poet"], 2, "change the agent in convoke.config.ts"],
  [["agents", "remove", "http://127.0.0.1:3000", "poet"], 2, "or use convoke agents disable"],
  [["agents", "stored", "/nowhere"], 2, "There is no folder /nowhere."],
  [["agents", "stored"], 2, "The data folder, or the address of the database, is missing."],
])("convoke %j exits with %i", async (args, code, problem) => {
  const finished = await runCli(args);

  expect(finished.stderr).toContain(problem);
  expect(finished.code).toBe(code);
});

test.each(["allowModules", "allowProcesses"])(
  "a configuration with %s, which let operators add such agents, does not start",
  async (name) => {
    const file = join(temporaryFolder(), "convoke.config.mjs");
    writeFileSync(file, `export default { ${name}: false };`);

    const { code, stderr } = await runCli(["serve", "--config", file]);

    expect(stderr).toContain(`${name} was removed`);
    expect(code).toBe(5);
  },
);
