import { type DataPart, EXTENSIONS } from "@convoke/protocol";
import { cancelTask, createInProcessConnection } from "@convoke/engine";
import { McpServers, type ModelRequest, defineAgent, openRequestsOf } from "@convoke/runtime";
import { type ScriptStep, scriptedModel } from "@convoke/runtime/testing";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CALLER } from "../engine/an-engine.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls, echoTool, resultsTold, statusText } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { aNotebook } from "./a-notebook.ts";
import { ours, published } from "./a-world.ts";
import { AgentWorld, aFolder } from "./an-agent.ts";
import { eventually } from "./eventually.ts";
import { anHttpServer } from "./http-server.ts";
import { expectNoLeftovers } from "./marked-processes.ts";

expectNoLeftovers();

const MISSING = { command: "/nowhere/no-such-program" };
const ASKING = "trigger-elicitation-request";

/** The names of the tools that were offered to a model. */
function toolNames(request: { readonly tools: readonly { readonly name: string }[] } | undefined) {
  return request?.tools.map(({ name }) => name);
}

/**
 * The tools in the parts that a caller with the extension tool-activity receives; results sorted,
 * because calls run in parallel.
 */
async function activityOf(world: AgentWorld, taskId: string): Promise<readonly unknown[]> {
  const context = { extensions: [EXTENSIONS.toolActivity.uri] };
  const connection = createInProcessConnection(world.engine, CALLER);
  const stream = connection.stream("subscribeToTask", { taskId }, { lastEventId: "1", context });
  const names: (readonly string[])[] = [];
  for await (const items of stream) {
    for (const item of items) {
      if (item.kind !== "event" || item.event.kind !== "status-update") continue;
      const parts = (item.event.status.message?.parts ?? []).filter(({ kind }) => kind === "data");
      const tools = parts.map((part) => (part as DataPart).data as { readonly name: string });
      if (tools.length > 0) names.push(tools.map(({ name }) => name));
    }
  }
  return [names[0], names.slice(1).flat().toSorted()];
}

describe("an agent with MCP servers", () => {
  verifies(
    "R53",
    "calls the tools of a program, of a server over HTTP and of its author in the same way",
    async () => {
      const { url } = await anHttpServer();
      const model = scriptedModel([
        [
          calls("near__echo", { message: "hi" }),
          calls("far__echo", { message: "ho" }),
          calls("echo", { text: "he" }),
        ],
        "Done.",
      ]);
      const world = new AgentWorld({
        model,
        tools: [echoTool()],
        mcpServers: { near: published("everything"), far: { url } },
      });

      const task = await world.ask("go");

      expect(task.status.state).toBe("completed");
      expect(toolNames(model.requests[0])).toEqual(
        expect.arrayContaining(["echo", "near__echo", "far__echo"]),
      );
      expect(resultsTold(model.requests)).toEqual(["Echo: hi", "Echo: ho", "echo he"]);
      expect(await world.notes(task.id, "internal:tool-complete")).toMatchObject([
        { success: true },
        { success: true },
        { success: true },
      ]);
      expect(await activityOf(world, task.id)).toEqual([
        ["near__echo", "far__echo", "echo"],
        ["echo", "far__echo", "near__echo"],
      ]);
    },
  );

  verifies(
    "R54",
    "reports in the last status which model, servers and tools a task had",
    async () => {
      const world = new AgentWorld({
        model: scriptedModel(["Done."], { id: "a-model" }),
        tools: [echoTool()],
        mcpServers: { everything: { ...published("everything"), allow: ["echo"] }, gone: MISSING },
      });

      const { id } = await world.ask("go");

      const served = {
        name: "everything__echo",
        description: expect.stringContaining("Echo") as string,
        parameterSchema: expect.objectContaining({ type: "object" }) as object,
      };
      const own = { name: "echo", description: "Says what it is told." };
      expect(await world.lastMetadata(id)).toMatchObject({
        model: "a-model",
        mcpServers: [
          { name: "everything", status: "connected", tools: [served] },
          { name: "gone", status: "failed", error: expect.any(String) as string, tools: [] },
        ],
        availableTools: [own, served],
        usage: { iterations: 1 },
      });
    },
  );

  test("with more tools than a status should hold reports only their names", async () => {
    const world = new AgentWorld({
      model: scriptedModel(["Done."]),
      tools: Array.from({ length: 9 }, (_, place) =>
        echoTool({ name: `tool_${place}`, description: "x".repeat(4000) }),
      ),
      mcpServers: {},
    });

    const { id } = await world.ask("go");

    const { availableTools } = await world.lastMetadata(id);
    expect(availableTools).toHaveLength(9);
    expect(availableTools).toContainEqual({ name: "tool_0" });
  });

  verifies(
    "loop-L17",
    "keeps its author's tool if a server has one of that name, and works without a broken server",
    async () => {
      const model = scriptedModel([calls("everything__echo", { text: "hi" }), "Done."]);
      const world = new AgentWorld({
        model,
        tools: [echoTool({ name: "everything__echo" })],
        mcpServers: { everything: published("everything"), gone: MISSING },
      });

      const task = await world.ask("go");

      expect(task.status.state).toBe("completed");
      const names = toolNames(model.requests[0])?.filter((name) => name === "everything__echo");
      expect(names).toHaveLength(1);
      expect(resultsTold(model.requests)).toEqual(["echo hi"]);
    },
  );

  test("offers tools that a server has added, and no tool that a filter omits", async () => {
    // The server announces its new tool after it has responded.
    const useGrown = (request: ModelRequest): ScriptStep =>
      toolNames(request)?.includes("helpful__grown") === true
        ? calls("helpful__grown")
        : calls("helpful__sleep", { ms: 100 });
    const finish = (request: ModelRequest): ScriptStep | string =>
      resultsTold([request]).at(-1) === "grown" ? "Done." : useGrown(request);
    const later = Array.from({ length: 40 }, () => finish);
    const model = scriptedModel([calls("helpful__grow"), useGrown, ...later]);
    const world = new AgentWorld({
      model,
      mcpServers: { helpful: ours("helpful-server") },
      hooks: { toolFilter: ({ name }) => name !== "helpful__big" },
    });

    await world.ask("go");

    expect(toolNames(model.requests[0])).not.toContain("helpful__grown");
    expect(toolNames(model.requests[0])).not.toContain("helpful__big");
    expect(toolNames(model.requests.at(-1))).toContain("helpful__grown");
    expect(toolNames(model.requests.at(-1))).not.toContain("helpful__big");
    expect(resultsTold(model.requests).at(-1)).toBe("grown");
  });

  test("asks before a tool that is not marked as read-only, and declares approvals on its card", async () => {
    const folder = await aFolder();
    const path = join(folder, "note.txt");
    const model = scriptedModel([
      calls("files__write_file", { path, content: "Buy milk." }),
      calls("files__read_text_file", { path }),
      "Done.",
    ]);
    const world = new AgentWorld({
      model,
      mcpServers: { files: published("filesystem", [folder]) },
    });

    const asked = await world.ask("go");

    expect(world.agent.info.extensions?.map(({ uri }) => uri)).toContain(EXTENSIONS.approvals.uri);
    expect(asked.status.state).toBe("input-required");
    const [approval] = openApprovals(asked);
    expect(approval).toMatchObject({ title: "files: write_file" });
    await expect(readFile(path)).rejects.toThrow("ENOENT");
    const answer = answerTo(approval!, { option: "once" });
    const done = await world.ask([answer], { taskId: asked.id });
    expect(done.status.state).toBe("completed");
    expect(await readFile(path, "utf8")).toBe("Buy milk.");
    expect(JSON.stringify(resultsTold(model.requests)[1])).toContain("Buy milk.");
  });

  test("does not run a rejected tool", async () => {
    const { notes, read } = await aNotebook();
    const model = scriptedModel([calls("helpful__write"), "Then not."]);
    const world = new AgentWorld({
      model,
      mcpServers: { helpful: ours("helpful-server", [], { NOTES: notes }) },
    });
    const asked = await world.ask("go");
    const [approval] = openApprovals(asked);

    const answer = answerTo(approval!, { option: "reject", feedback: "Not today." });
    const done = await world.ask([answer], { taskId: asked.id });

    expect(done.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([expect.stringContaining("Not today.")]);
    await expect(read()).rejects.toThrow("ENOENT");
  });

  test.each(["a program", "a server over HTTP"])(
    "passes a question of %s to its caller, and the answer to the call that waits",
    async (kind) => {
      const config =
        kind === "a program" ? published("everything") : { url: (await anHttpServer()).url };
      const model = scriptedModel([calls(`everything__${ASKING}`), "Done."]);
      const world = new AgentWorld({
        model,
        mcpServers: { everything: { ...config, confirm: "never" } },
      });

      const asked = await world.ask("go");

      expect(asked.status.state).toBe("input-required");
      expect(statusText(asked)).toContain("The MCP server everything asks:");
      const [question] = openRequestsOf(asked);
      const data = { requestId: question!.requestId, value: { name: "Ann", integer: 7 } };
      const done = await world.ask([{ kind: "data", data }], { taskId: asked.id });
      expect(done.status.state).toBe("completed");
      expect(resultsTold(model.requests)).toEqual([expect.stringContaining("- Name: Ann")]);
    },
  );

  test("works with the servers that its author has created, and leaves them open", async () => {
    const servers = new McpServers({ everything: published("everything") });
    onTestFinished(() => servers.close());
    const model = scriptedModel([calls("everything__echo", { message: "hi" }), "Done."]);
    const world = new AgentWorld({ model, mcpServers: servers });

    await world.ask("go");
    await world.agent[Symbol.asyncDispose]!();

    expect(resultsTold(model.requests)).toEqual(["Echo: hi"]);
    expect(servers.report()).toMatchObject([{ status: "connected" }]);
  });
});

describe("a canceled task", () => {
  test("stops the call that runs on a server", async () => {
    const { notes, read } = await aNotebook();
    const world = new AgentWorld({
      model: scriptedModel([calls("helpful__sleep", { ms: 60_000 })]),
      mcpServers: { helpful: ours("helpful-server", [], { NOTES: notes }) },
    });
    const taskId = await world.tell("go");
    await eventually(async () => expect(await read()).toBe("sleeps\n"));

    const { status } = await cancelTask(world.engine, taskId, CALLER);

    expect(status.state).toBe("canceled");
    await eventually(async () => expect(await read()).toBe("sleeps\nstopped sleeping\n"));
  });

  test("stops the call whose question waits for an answer", async () => {
    const { notes, read } = await aNotebook();
    const env = { NOTES: notes, STOPS: "yes" };
    const world = new AgentWorld({
      model: scriptedModel([calls("helpful__greet")]),
      mcpServers: { helpful: { ...ours("helpful-server", [], env), confirm: "never" } },
    });
    const asked = await world.ask("go");
    expect(asked.status.state).toBe("input-required");
    expect(await read()).toBe("greets\n");

    await cancelTask(world.engine, asked.id, CALLER);

    await eventually(async () => expect(await read()).toBe("greets\nstopped greeting\n"));
  });
});

describe("a broken server", () => {
  verifies("R55", "loses only its own tools, and the model is informed why", async () => {
    const model = scriptedModel([
      [calls("gone__read"), calls("hanging__plain"), calls("everything__echo", { message: "hi" })],
      "Done.",
    ]);
    const world = new AgentWorld({
      model,
      mcpServers: {
        gone: MISSING,
        hanging: { ...ours("odd-server", ["hanging"]), startTimeoutMs: 300 },
        everything: published("everything"),
      },
    });

    const task = await world.ask("go");

    expect(task.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([
      expect.stringMatching(
        /^The MCP server gone is not connected: .*Its tools cannot be used now/,
      ),
      expect.stringMatching(/^The MCP server hanging is not connected: /),
      "Echo: hi",
    ]);
    expect(await world.notes(task.id, "internal:tool-complete")).toMatchObject([
      { success: false },
      { success: false },
      { success: true },
    ]);
  });

  verifies("R55", "reports which call failed", async () => {
    const model = scriptedModel([calls("helpful__fail"), "Done."]);
    const world = new AgentWorld({ model, mcpServers: { helpful: ours("helpful-server") } });

    const task = await world.ask("go");

    expect(task.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([expect.stringContaining("It is broken.")]);
  });

  test("after a crash costs no finished call, and a call that was approved in the meantime fails", async () => {
    const folder = await aFolder();
    const path = join(folder, "note.txt");
    await writeFile(path, "Buy milk.");
    const model = scriptedModel([
      [
        calls("files__read_text_file", { path }),
        calls("files__write_file", { path, content: "Buy tea." }),
      ],
      "Done.",
    ]);
    const files = published("filesystem", [folder]);
    const world = new AgentWorld({ model, mcpServers: { files } });
    const asked = await world.ask("go");
    const [approval] = openApprovals(asked);

    await world.restart({ mcpServers: { files: MISSING } });
    const answer = answerTo(approval!, { option: "once" });
    const done = await world.ask([answer], { taskId: asked.id });

    expect(done.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([
      expect.objectContaining({ text: "Buy milk." }),
      expect.stringContaining("The MCP server files is not connected"),
    ]);
    expect(await readFile(path, "utf8")).toBe("Buy milk.");
  });

  test("after a crash leaves the outcome of the interrupted call unknown", async () => {
    const slow = "everything__trigger-long-running-operation";
    const model = scriptedModel([calls(slow, { duration: 60, steps: 600 }), "Done."]);
    const world = new AgentWorld({ model, mcpServers: { everything: published("everything") } });
    const taskId = await world.tell("go");
    await world.hasEvent(taskId, "internal:tool-progress");

    await world.restart({ mcpServers: { everything: MISSING } });
    const done = await world.settled(taskId);

    expect(done.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([
      expect.stringMatching(/^Unknown: a crash cut this call; .* The MCP server everything is not/),
    ]);
  });

  test("after a crash is available again for a pending question", async () => {
    const { notes, read } = await aNotebook();
    const helpful = ours("helpful-server", [], { NOTES: notes, READS: "yes" });
    const model = scriptedModel([calls("helpful__greet"), "Done."]);
    const world = new AgentWorld({ model, mcpServers: { helpful } });
    const asked = await world.ask("go");

    await world.restart();
    const done = await world.ask("Ann", { taskId: asked.id });

    expect(done.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual(["Hello, Ann!"]);
    expect(await read()).toBe("greets\ngreets\n");
  });
});

test("invalid settings are rejected when the agent is created", () => {
  const facts = { name: "A", description: "Thinks." };
  const define = (more: object) => () => defineAgent({ ...facts, model: "demo", ...more });
  const servers = new McpServers({});

  expect(define({ mcpServers: { files: { comand: "npx" } } })).toThrow("mcpServers.files");
  expect(define({ mcpOptions: { maxTools: 5 } })).toThrow("mcpOptions is for mcpServers");
  expect(define({ mcpServers: servers, mcpOptions: {} })).toThrow(
    "give mcpOptions to new McpServers",
  );
  const misplaced = { ...facts, run: () => "hi", mcpServers: {} };
  expect(() => defineAgent(misplaced)).toThrow("mcpServers is for agents with a model");
});
