import { type Budget, EXTENSIONS, type StatusUpdateEvent, type Task } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool, statusText } from "./scripts.ts";

const { uri } = EXTENSIONS.budget;
const usage = { inputTokens: 900, outputTokens: 100 };
const step = [calls("echo"), { kind: "finish", usage } as const];

function aWorld(extensions: readonly string[] = [uri]): LoopWorld {
  const price = { inputPerMillion: 1000, outputPerMillion: 1000 };
  const model = scriptedModel(
    Array.from({ length: 60 }, () => step),
    { price },
  );
  const definition = { model, tools: [echoTool()], budget: { iterations: 4, tokens: 9000 } };
  return new LoopWorld(definition, { extensions: new Set(extensions) });
}

async function working(
  budget: Budget,
  world: LoopWorld = aWorld(),
): Promise<{ readonly task: Task; readonly metadata: StatusUpdateEvent["metadata"] }> {
  const task = await world.ask("go", { metadata: { [uri]: budget } });
  const last = (await world.events(task.id)).at(-1) as StatusUpdateEvent;
  return { task, metadata: last.metadata };
}

describe("a budget that is sent with a message", () => {
  test.each<[Budget, string, string]>([
    [{ tokens: 1500 }, "tokens is limited to 1500, and 2000 was used", "tokens"],
    [{ costUsd: 0.5 }, "cost is limited to 0.5, and 1 was used", "cost"],
  ])("limits the task if it is smaller than the agent's own: %j", async (budget, text, limit) => {
    const { task, metadata } = await working(budget);

    expect(task.status.state).toBe("failed");
    expect(statusText(task)).toContain(text);
    expect(metadata?.[uri]).toMatchObject({ exceeded: limit });
  });

  test("of time ends the task, also in the middle of its work", async () => {
    const deadline = new Date(Date.now() + 200).toISOString();
    const slow = scriptedModel([[{ kind: "delay", ms: 10_000 }]]);
    const world = new LoopWorld({ model: slow }, { extensions: new Set([uri]) });

    const { task, metadata } = await working({ deadline }, world);

    expect(task.status.state).toBe("failed");
    expect(statusText(task)).toContain("deadline");
    expect(metadata?.[uri]).toMatchObject({ exceeded: "deadline" });
  });

  test("does not replace the agent's own if it is larger", async () => {
    const { metadata } = await working({ tokens: 1_000_000 });

    expect(metadata).toMatchObject({ reason: "budget", budget: "iterations" });
  });

  test("is ignored by an agent whose caller has not activated the extension", async () => {
    const { metadata } = await working({ tokens: 1 }, aWorld([]));

    expect(metadata).toMatchObject({ budget: "iterations" });
    expect(metadata).not.toHaveProperty([uri]);
  });

  test.each<[Budget, string, string]>([
    [{ tokens: 0 }, "tokens is 0", "tokens"],
    [{ costUsd: 0 }, "costUsd is 0", "cost"],
    [{ deadline: "2026-01-31T12:00:00Z" }, "2026-01-31T12:00:00Z", "deadline"],
  ])("that is used up is rejected before the model is called: %j", async (budget, text, limit) => {
    const world = aWorld();
    const { task, metadata } = await working(budget, world);

    expect(task.status.state).toBe("rejected");
    expect(statusText(task)).toContain(text);
    expect(metadata?.[uri]).toEqual({ used: { tokens: 0, calls: 0 }, exceeded: limit });
    expect(await world.notes(task.id, "internal:llm-call")).toEqual([]);
  });
});

test("the usage stays on the task", async () => {
  const { task } = await working({});

  expect(task.metadata?.[uri]).toEqual({ used: { tokens: 4000, costUsd: 4, calls: 0 } });
  // Details of only the last status are not kept on the task.
  expect(Object.keys(task.metadata ?? {})).toEqual([uri]);
});
