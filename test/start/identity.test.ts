import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Agent, textOf } from "@convoke/protocol";
import { type RemoteAgent, connect } from "@convoke/client";
import { defineAgent, serve } from "convoke";
import { expect, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { writeAgent } from "./agent-file.ts";
import { serveConvoke, startConvoke } from "./convoke-process.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const GREETER = fileURLToPath(new URL("../../examples/greeter/agent.ts", import.meta.url));
const EARLIER = fileURLToPath(new URL("../upgrade/data-5d937c9", import.meta.url));

/** An agent that asks, with the name that its file currently gives it. */
function writeDesk(cwd: string, name: string): string {
  return writeAgent(
    cwd,
    `export default defineAgent({
      name: ${JSON.stringify(name)},
      description: "Asks.",
      run: async ({ ask }) => \`${name}: \${await ask("Refund?")}\`,
    });`,
  );
}

test("agents served from one folder keep their tasks separate, side by side and one after the other", async () => {
  const cwd = temporaryFolder();

  const demo = await serveConvoke({ cwd });
  const { task } = await (await connect(demo.url)).send("ask");
  const greeter = await serveConvoke({ cwd, args: ["serve", GREETER] });
  expect((await (await connect(greeter.url)).list()).tasks).toEqual([]);
  await demo.program.kill("SIGTERM");
  const again = await serveConvoke({ cwd });

  expect(demo.program.stdout).toContain("tasks in .convoke/convoke-demo (SQLite)\n");
  expect(greeter.program.stdout).toContain("tasks in .convoke/greeter (SQLite)\n");
  expect(again.program.stdout).toContain("unfinished tasks: 1 waiting\n");
  const { status } = await (await connect(again.url)).get(task!.id);
  expect(status.state).toBe("input-required");
});

test("an agent file with a new display name keeps its tasks", async () => {
  const cwd = temporaryFolder();
  const agent = writeDesk(cwd, "Support Desk");
  const first = await serveConvoke({ cwd, args: ["serve", agent] });
  const { task } = await (await connect(first.url)).send("hello");
  await first.program.kill("SIGTERM");

  writeDesk(cwd, "Help Desk");
  const second = await serveConvoke({ cwd, args: ["serve", agent] });
  const client = await connect(second.url);
  const answer = await client.send("yes", { taskId: task!.id });

  expect(second.program.stdout).toContain("tasks in .convoke/support-desk (SQLite)\n");
  expect(textOf(answer.task!)).toBe("Help Desk: yes");
});

test("the folder of an earlier version is moved to its agent at the first start, not to another", async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, ".convoke"));
  cpSync(join(EARLIER, "copyist"), join(cwd, ".convoke"), { recursive: true });
  const agent = writeDesk(cwd, "copyist");
  const facts = JSON.parse(readFileSync(join(EARLIER, "facts.json"), "utf8")) as {
    readonly tasks: { readonly restart: { readonly taskId: string } };
  };

  const demo = await serveConvoke({ cwd });
  expect(existsSync(join(cwd, ".convoke", "tasks.db"))).toBe(true);
  const server = await serveConvoke({ cwd, args: ["serve", agent] });

  expect(existsSync(join(cwd, ".convoke", "tasks.db"))).toBe(false);
  expect(demo.program.stdout).not.toContain("Earlier");
  expect(server.program.stdout).toContain("tasks in .convoke/copyist (SQLite)\n");
  const { id } = await (await connect(server.url)).get(facts.tasks.restart.taskId);
  expect(id).toBe(facts.tasks.restart.taskId);
});

test("the tasks of another agent in a folder are listed, left unchanged, and ended on request", async () => {
  const data = temporaryFolder();
  const cwd = temporaryFolder();
  const desk = defineAgent({
    name: "Support Desk",
    description: "Asks.",
    run: async ({ ask }) => ask("Refund?"),
  });
  const waiting: string[] = [];
  await served(desk, data, async (client) => {
    for (const text of ["one", "two", "three"]) {
      waiting.push((await client.send(text)).task!.id);
    }
  });

  const other = startConvoke({ cwd, args: ["serve", "--data", data] });
  await other.until((stdout) => (stdout.includes("Type ") ? true : undefined));
  const line = /npx convoke (tasks end .*)/.exec(other.stdout)?.[1] ?? "";
  const args = line.split(" ");
  const refused = await startConvoke({ cwd, args }).ended;
  await other.kill("SIGTERM");
  const one = await runCli(["tasks", "end", waiting[0]!, "--data", data], {
    env: { CONVOKE_LOG: "info" },
  });

  expect(other.stdout).toContain("Others   3 unfinished of the agent Support Desk, left alone.");
  expect(other.stderr).toContain('"others":[{"agentId":"support-desk"');
  expect(refused).toMatchObject({ code: 5, stdout: "" });
  expect(refused.stderr).toMatch(/^The data folder .* is in use by process \d+/);
  expect(one).toMatchObject({ code: 0, stdout: `${waiting[0]} "Support Desk"\n` });
  expect(one.stderr).toContain(`"audit":true,"event":"task.ended","taskId":"${waiting[0]}"`);
  await served(desk, data, async (client) => {
    const ended = await client.get(waiting[0]!);
    expect(ended.status).toMatchObject({ state: "failed" });
    expect(ended.status.message?.metadata).toEqual({ reason: "operator" });
    expect((await client.get(waiting[1]!)).status.state).toBe("input-required");
  });
  const rest = await startConvoke({ cwd, args }).ended;
  expect(rest).toMatchObject({ code: 0, stderr: "Ended 2 tasks.\n" });
  expect((await startConvoke({ cwd, args }).ended).stderr).toBe(
    "There is no such unfinished task.\n",
  );
});

async function served(
  agent: Agent,
  data: string,
  work: (client: RemoteAgent) => Promise<void>,
): Promise<void> {
  await using server = await serve(agent, { port: 0, data });
  await work(await connect(server.url));
}
