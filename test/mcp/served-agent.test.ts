import { AgentLoop } from "@convoke/runtime";
import { type Agent, connect, defineAgent, mount, serve } from "convoke";
import { type ScriptedModel, scriptedModel } from "@convoke/runtime/testing";
import { readdir } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { ours } from "./a-world.ts";
import { aFolder } from "./an-agent.ts";
import { expectNoLeftovers, markedProcesses } from "./marked-processes.ts";

expectNoLeftovers();

/** A server that ends only when it is forced to, and has a child process. */
const STUBBORN = { ...ours("odd-server", ["stubborn"]), confirm: "never" } as const;

function anAgent(model: ScriptedModel, mcpSkills = true): Agent {
  return defineAgent({
    name: "Thinker",
    description: "Thinks with a model.",
    model,
    mcpServers: { odd: STUBBORN },
    mcpSkills,
  });
}

async function childRecords(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.startsWith("mcp-child-"));
}

test("a server that is closed leaves no process, and its agent can be served again", async () => {
  const data = await aFolder();
  const logger = memoryLogger();
  const model = scriptedModel([calls("odd__plain"), "Done.", calls("odd__plain"), "Done."]);
  // Without its servers on its card, so that the test can check that nothing runs before a turn.
  const agent = anAgent(model, false);

  for (const _time of ["first", "second"]) {
    const server = await serve(agent, { port: 0, data, logger });
    onTestFinished(() => server.close());
    expect(markedProcesses()).toEqual([]);
    const remote = await connect(server.url);
    const { task } = await remote.send("go");
    expect(task?.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual(["called plain"]);
    expect(markedProcesses()).toHaveLength(2);
    expect(await childRecords(data)).toHaveLength(1);

    await server.close();

    expect(markedProcesses()).toEqual([]);
    expect(await childRecords(data)).toEqual([]);
  }
});

test("an agent in an app leaves no process either, and keeps no records without a folder", async () => {
  const model = scriptedModel([calls("odd__plain"), "Done."]);
  const mounted = await mount(anAgent(model), { data: "memory", publicUrl: "http://127.0.0.1/" });
  onTestFinished(() => mounted.close());
  const message = {
    kind: "message",
    role: "user",
    messageId: "1",
    parts: [{ kind: "text", text: "go" }],
  };
  const body = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } };
  const response = await mounted.fetch(
    new Request("http://127.0.0.1/", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  expect(await response.json()).toMatchObject({ result: { status: { state: "completed" } } });
  expect(markedProcesses()).toHaveLength(2);

  await mounted.close();

  expect(markedProcesses()).toEqual([]);
});

test("the agent's log reports a server that does not start", async () => {
  const logger = memoryLogger();
  const agent = defineAgent({
    name: "Thinker",
    description: "Thinks with a model.",
    model: scriptedModel(["Done."]),
    mcpServers: { gone: { command: "/nowhere/no-such-program" } },
  });
  await using server = await serve(agent, { port: 0, data: "memory", logger });
  const remote = await connect(server.url);

  await remote.send("go");

  expect(logger.lines).toContainEqual(
    expect.stringMatching(/^an MCP server is not connected .*"server":"gone"/),
  );
});

test("a loop that is closed leaves no process", async () => {
  const model = scriptedModel([calls("odd__plain"), "Done."]);
  await using loop = new AgentLoop({ model, mcpServers: { odd: STUBBORN } });
  const task = await loop.invokeSync([{ kind: "text", text: "go" }]);
  expect(task.status.state).toBe("completed");
  expect(markedProcesses()).toHaveLength(2);

  await loop.close();

  expect(markedProcesses()).toEqual([]);
});
