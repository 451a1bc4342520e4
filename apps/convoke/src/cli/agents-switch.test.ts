import { createJsonLogger } from "@convoke/engine";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentServer, serve } from "../host/serve-agent.ts";
import { demoAgent } from "../host/load-agent.ts";
import { type Finished, runCli } from "./testing/run-cli.suite.ts";

let server: AgentServer;

const logger = createJsonLogger("silent", () => undefined);

beforeAll(async () => {
  server = await serve(demoAgent, { port: 0, data: "memory", logger });
});

afterAll(() => server.close());

const run = (verb: string, ...args: readonly string[]): Promise<Finished> =>
  runCli(["agents", verb, server.url, ...args]);

test("an operator disables and enables an agent, and sees its state", async () => {
  expect((await run("disable", "convoke-demo")).stdout).toBe("Disabled: convoke-demo\n");
  expect((await run("status")).stdout).toMatch(/^convoke-demo +disabled, default +0 +Shows what/m);

  const enabled = await run("enable", "convoke-demo", "--json");
  expect(JSON.parse(enabled.stdout)).toMatchObject({ id: "convoke-demo", isEnabled: true });
  const { stdout } = await run("status", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ agents: [{ id: "convoke-demo", isEnabled: true }] });
});

test.each([
  [["disable"], 2, "The id of the agent is missing; convoke agents status http"],
  [["disable", "one", "two"], 2, '"two" is an unexpected argument.'],
  [["disable", "nobody"], 3, 'there is no agent "nobody" here; there are convoke-demo'],
])("agents %j exits with %i", async ([verb, ...args], code, problem) => {
  const finished = await run(verb!, ...args);

  expect(finished.stderr).toContain(problem);
  expect(finished.code).toBe(code);
});

test("a server whose operators may not do that says so", async () => {
  await using closed = await serve(demoAgent, { port: 0, data: "memory", logger, agentApi: false });

  const { code, stderr } = await runCli(["agents", "status", closed.url]);

  expect(stderr).toContain("it may have that API switched off (CONVOKE_AGENT_API)");
  expect(code).toBe(3);
});
