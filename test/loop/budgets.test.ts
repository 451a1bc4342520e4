import { type StatusUpdateEvent, type Task, userMessage } from "@convoke/protocol";
import { type Budget, tool } from "@convoke/runtime";
import { type ScriptedModel, scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { RunBudget, resolveBudget } from "../../packages/runtime/src/run/budget.ts";
import { verifies } from "../verifies.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool, statusText } from "./scripts.ts";

const usage = { inputTokens: 900, outputTokens: 100 };
const step = [calls("echo"), { kind: "finish", usage } as const];

async function spent(
  budget: Budget,
  more: Partial<ConstructorParameters<typeof LoopWorld>[0]> = {},
): Promise<{ readonly task: Task; readonly metadata: StatusUpdateEvent["metadata"] }> {
  const price = { inputPerMillion: 1000, outputPerMillion: 1000 };
  const model = scriptedModel(
    Array.from({ length: 60 }, () => step),
    { price },
  );
  const world = new LoopWorld({ model, tools: [echoTool()], budget, ...more });
  const task = await world.ask("go");
  const last = (await world.events(task.id)).at(-1) as StatusUpdateEvent;
  return { task, metadata: last.metadata };
}

describe("a task that exceeds its budget fails with the name of the limit", () => {
  test.each<[Budget, string, object]>([
    [{ iterations: 3 }, "iterations is limited to 3, and 3 was used", { iterations: 3 }],
    [
      { tokens: 2500 },
      "tokens is limited to 2500, and 3000 was used",
      { inputTokens: 2700, outputTokens: 300 },
    ],
    [{ cost: 1.5 }, "cost is limited to 1.5, and 2 was used", { cost: 2 }],
    [{ toolCalls: 2 }, "toolCalls is limited to 2", { toolCalls: 2 }],
  ])("%j", async (budget, text, used) => {
    const { task, metadata } = await spent(budget);

    expect(task.status.state).toBe("failed");
    expect(statusText(task)).toContain(text);
    expect(metadata).toMatchObject({ reason: "budget", error: statusText(task), usage: used });
  });

  test("of time, also in the middle of a tool, which is stopped", async () => {
    let wasStopped = false;
    const slow = tool({
      name: "echo",
      description: "Never ends.",
      run: (_, { signal }) =>
        new Promise(() => signal.addEventListener("abort", () => (wasStopped = true))),
    });

    const { task, metadata } = await spent({ timeMs: 1000 }, { tools: [slow] });

    expect(statusText(task)).toContain("timeMs is limited to 1000");
    expect(metadata).toMatchObject({ budget: "timeMs" });
    expect(wasStopped).toBe(true);
  });

  test("of consecutive failures; one success resets the count", async () => {
    let n = 0;
    const fickle = tool({
      name: "echo",
      description: "Fails mostly.",
      run: () => {
        n += 1;
        if (n !== 3) throw new Error("no");
        return "ok";
      },
    });

    const { task } = await spent({ consecutiveFailures: 4 }, { tools: [fickle] });

    expect(n).toBe(7);
    expect(statusText(task)).toContain("consecutiveFailures is limited to 4");
  });
});

describe("without a budget of its own", () => {
  const endless = (tokens: number): ScriptedModel =>
    scriptedModel(
      Array.from({ length: 60 }, () => [
        calls("echo"),
        { kind: "finish", usage: { inputTokens: tokens, outputTokens: 0 } } as const,
      ]),
    );

  verifies("G14", "an agent calls its model fifty times at most", async () => {
    const { task } = await spent({}, { model: endless(1) });

    expect(statusText(task)).toContain("iterations is limited to 50, and 50 was used");
  });

  verifies("G14", "it uses ten million tokens at most, unless tokens are unlimited", async () => {
    const { task } = await spent({}, { model: endless(4_000_000) });
    const { task: free } = await spent({ tokens: Infinity }, { model: endless(4_000_000) });

    expect(statusText(task)).toContain("tokens is limited to 10000000, and 12000000 was used");
    expect(statusText(free)).toContain("iterations is limited to 50");
  });

  verifies("G14", "it works for six hours at most, unless time is unlimited", () => {
    const turn = { message: userMessage("m1", "go"), extensions: new Set<string>() };
    const now = new Date();
    const HOUR = 3_600_000;

    expect(new RunBudget(resolveBudget(), turn).end(5 * HOUR, now)?.inMs).toBe(HOUR);
    expect(new RunBudget(resolveBudget({ timeMs: Infinity }), turn).end(HOUR, now)?.inMs).toBe(
      Infinity,
    );
  });
});

test("a completed task reports its usage", async () => {
  const model = scriptedModel([
    [calls("echo"), calls("echo"), { kind: "finish", usage }],
    [
      { kind: "text", text: "done" },
      { kind: "source", url: "https://example.com/", title: "Example" },
      { kind: "finish", usage },
    ],
  ]);
  const world = new LoopWorld({ model, tools: [echoTool()] });

  const task = await world.ask("go");

  const last = (await world.events(task.id)).at(-1) as StatusUpdateEvent;
  expect(last.status.state).toBe("completed");
  expect(last.metadata).toEqual({
    usage: {
      iterations: 2,
      inputTokens: 1800,
      outputTokens: 200,
      toolCalls: 2,
      durationMs: expect.any(Number) as number,
    },
    sources: [{ url: "https://example.com/", title: "Example" }],
    model: "scripted",
    mcpServers: [],
    availableTools: [
      {
        name: "echo",
        description: "Says what it is told.",
        parameterSchema: { type: "object", properties: { text: { type: "string" } } },
      },
    ],
  });
});

test("an answer that the model could not finish is marked as such", async () => {
  const finish = (reason: "length" | "content-filter") => ({ kind: "finish", reason }) as const;
  const cut = await spent(
    {},
    { model: scriptedModel([[{ kind: "text", text: "and so" }, finish("length")]]) },
  );
  const filtered = await spent({}, { model: scriptedModel([[finish("content-filter")]]) });

  expect(cut.task.status.state).toBe("completed");
  expect(cut.metadata).toMatchObject({ finish: "length" });
  expect(filtered.task.status.state).toBe("failed");
  expect(statusText(filtered.task)).toContain("did not let it answer");
});
