import { A2AError, type StatusUpdateEvent, textOf } from "@convoke/protocol";
import { ModelError, inputRequired, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { expect, test } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { ours } from "../mcp/a-world.ts";
import { AgentWorld } from "../mcp/an-agent.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool } from "./scripts.ts";

interface Line {
  readonly level: "debug" | "warn";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What the operator of an agent sees in the log during these tests. */
function operatorOf({ engine }: LoopWorld): {
  readonly lines: Line[];
  warnings(): readonly Line[];
} {
  const lines: Line[] = [];
  const at =
    (level: Line["level"]) =>
    (message: string, fields: Line["fields"] = {}): void =>
      void lines.push({ level, message, fields });
  engine.agents.first.definition.prepare?.({ logger: { debug: at("debug"), warn: at("warn") } });
  return { lines, warnings: () => lines.filter(({ level }) => level === "warn") };
}

test("a tool that throws logs one warning with the task and an errorId, and its stack at level debug", async () => {
  const broken = echoTool({
    name: "broken",
    run: () => {
      throw new Error("the disk is full");
    },
  });
  const world = new LoopWorld({
    model: scriptedModel([calls("broken"), "Sorry."]),
    tools: [broken],
  });
  const operator = operatorOf(world);

  const { id: taskId } = await world.ask("go");

  const fields = { taskId, tool: "broken", toolCallId: "call_1", problem: "the disk is full" };
  expect(operator.warnings()).toMatchObject([{ message: "a tool failed", fields }]);
  const { errorId } = operator.warnings()[0]!.fields;
  expect(errorId).toMatch(/^[0-9a-f]{12}$/);
  const debug = operator.lines.find(({ level }) => level === "debug")!;
  expect(debug.fields).toMatchObject({ taskId, errorId });
  expect((debug.fields["error"] as Error).stack).toContain("operator-log.test.ts");
  const [complete] = await world.notes(taskId, "internal:tool-complete");
  expect(complete).toMatchObject({ success: false, errorId });
});

test("a secret that a tool repeats in its error does not reach the log", async () => {
  const login = tool({
    name: "login",
    description: "Logs in.",
    run: (_, { answers }) => {
      const password = answers.get("input")?.text;
      if (password === undefined) return inputRequired("Password?", { sensitive: true });
      throw new Error(`wrong password ${password}`);
    },
  });
  const world = new LoopWorld({ model: scriptedModel([calls("login"), "Sorry."]), tools: [login] });
  const operator = operatorOf(world);
  const { id: taskId } = await world.ask("go");

  await world.ask("hunter2-hunter2", { taskId });

  expect(operator.warnings()).toMatchObject([{ message: "a tool failed" }]);
  const errors = operator.lines.map(({ fields }) => String((fields["error"] as Error)?.stack));
  expect(JSON.stringify([operator.lines, errors])).not.toContain("hunter2");
});

test("a failed model call logs a warning each time, and the task has the errorId of the last", async () => {
  const model = scriptedModel([
    { kind: "error", status: 503 },
    { kind: "error", status: 401 },
  ]);
  const world = new LoopWorld({ model, retry: { firstWaitMs: 1 } });
  const operator = operatorOf(world);

  const { id: taskId } = await world.ask("go");

  expect(operator.warnings()).toMatchObject([
    { message: "a model call failed and is repeated", fields: { taskId, attempt: 1 } },
    { message: "a task failed because of its model", fields: { taskId, model: "scripted" } },
  ]);
  const last = (await world.events(taskId)).at(-1) as StatusUpdateEvent;
  expect(last.metadata).toMatchObject({
    reason: "model",
    errorId: operator.warnings()[1]!.fields["errorId"],
  });
});

test("a failed tool of an MCP server logs a warning that names the server", async () => {
  const world = new AgentWorld({
    model: scriptedModel([calls("helpful__fail"), "Sorry."]),
    mcpServers: { helpful: ours("helpful-server") },
  });
  const operator = operatorOf(world);

  const { id: taskId } = await world.ask("go");

  expect(operator.warnings()).toMatchObject([
    {
      message: "a tool failed",
      fields: { taskId, tool: "helpful__fail", problem: expect.stringContaining("It is broken.") },
    },
  ]);
});

test("a sub-agent that is down logs one warning for each call, in plain text", async () => {
  const url = `http://127.0.0.1:${await keptPort()}`;
  const world = new LoopWorld({
    model: scriptedModel([calls("clerk", { message: "go" }), "Sorry."]),
    subAgents: { clerk: { url, timeoutMs: 1500 } },
  });
  const operator = operatorOf(world);

  const task = await world.ask("go");

  expect(textOf(task)).toBe("Sorry.");
  expect(operator.warnings()).toHaveLength(1);
  const { problem, tool: name } = operator.warnings()[0]!.fields;
  expect(name).toBe("clerk");
  expect(problem).not.toMatch(/["'\\]/);
});

test("a served agent whose model cannot be used does not start, and says what is missing", () => {
  const prepare = (model: string): unknown => {
    const modelOptions = { environment: {} };
    const { definition: agent } = new LoopWorld({ model, modelOptions }).engine.agents.first;
    try {
      return agent.prepare?.({});
    } catch (error) {
      expect(error).toBeInstanceOf(ModelError);
      expect(A2AError.is(error)).toBe(false);
      return (error as Error).message;
    }
  };

  expect(prepare("anthropic:claude-sonnet-4-5")).toBe(
    "the agent's model cannot be used: anthropic:claude-sonnet-4-5 needs a key; set ANTHROPIC_API_KEY or give apiKey",
  );
  expect(prepare("gpt-5")).toContain('model: "gpt-5" names no known provider; use "anthropic:');
  expect(prepare("ollama:llama3.2")).toBeUndefined();
  expect(prepare("demo")).toBeUndefined();
});
