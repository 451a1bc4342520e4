import { AgentLoop, inputRequired, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool, eventsOf, resultsTold } from "./scripts.ts";

const asking = tool({
  name: "asking",
  description: "Asks.",
  run: (_, { answers }) => answers.get("input")?.text ?? inputRequired("What?"),
});
const guarded = echoTool({ confirm: "ask" });

test("an approval in a standalone loop may wait longer than a timer can measure", async () => {
  const model = scriptedModel([calls("echo", { text: "a" }), "Fine."]);
  const approvals = { expiresInMs: 30 * 24 * 3_600_000 };
  const loop = new AgentLoop({ model, tools: [guarded], approvals });
  await eventsOf(loop.execute("go", { taskId: "t1" }));
  await new Promise((resolve) => setTimeout(resolve, 30));

  const done = await loop.invokeSync([{ kind: "text", text: "leave it" }], { taskId: "t1" });

  expect(done.status.state).toBe("completed");
  expect(resultsTold(model.requests)).toEqual(["Not run: the user sent a new message instead."]);
});

describe("when no answer arrives in time", () => {
  test("the loop continues without it, and the model is informed", async () => {
    const model = scriptedModel([[calls("asking"), calls("echo", { text: "a" })], "Fine."]);
    const inputTimeout = { ms: 30, onTimeout: "continue" } as const;
    const world = new LoopWorld({ model, tools: [asking, guarded], inputTimeout });
    const asked = await world.ask("go");

    await world.hasEvent(asked.id, "internal:expired");
    // By the log: on a busy machine the wait may be over before anyone has looked at the task.
    expect(await world.states(asked.id)).toContain("input-required");
    await world.hasEvent(asked.id, "internal:checkpoint", 2);

    expect((await world.settled(asked.id)).status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([
      "Not finished: nobody answered in time.",
      "Not run: nobody approved it in time.",
    ]);
  });

  test("an approval in a standalone loop expires by the clock; other pending questions are asked again", async () => {
    const model = scriptedModel([[calls("asking"), calls("echo", { text: "a" })], "Fine."]);
    const approvals = { expiresInMs: 30 };
    const loop = new AgentLoop({ model, tools: [asking, guarded], approvals });
    await eventsOf(loop.execute("go", { taskId: "t1" }));
    await new Promise((resolve) => setTimeout(resolve, 60));

    const done = await loop.invokeSync([{ kind: "text", text: "that" }], { taskId: "t1" });

    expect(done.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual(["that", "Not run: nobody approved it in time."]);
  });
});

test("the time in which a task waits does not count towards its budget", async () => {
  const model = scriptedModel([calls("asking"), "Fine."]);
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const world = new LoopWorld({ model, tools: [asking], budget: { timeMs: 60_000 } }, { now });
  const asked = await world.ask("go");

  aheadMs += 3_600_000;
  const done = await world.ask("that", { taskId: asked.id });

  expect(done.status.state).toBe("completed");
});

describe("a task that waits while its server is down", () => {
  const budget = { timeMs: 60_000 };

  test("can be answered after more time than its budget allows for work", async () => {
    let aheadMs = 0;
    const now = () => Date.now() + aheadMs;
    const model = scriptedModel([calls("asking"), "Fine."]);
    const world = new LoopWorld({ model, tools: [asking], budget }, { now });
    const asked = await world.ask("go");
    aheadMs += 24 * 3_600_000;
    await world.restart();
    aheadMs += 24 * 3_600_000;

    const done = await world.ask("that", { taskId: asked.id });

    expect(done.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual(["that"]);
  });

  test("is not charged for the time in which no process worked on it", async () => {
    let aheadMs = 0;
    const now = () => Date.now() + aheadMs;
    const model = scriptedModel([calls("echo", { text: "a" }), { kind: "silence" }, "Fine."]);
    const world = new LoopWorld({ model, tools: [echoTool()], budget }, { now });
    const taskId = await world.tell("go");
    await world.hasEvent(taskId, "internal:llm-call", 2);
    world.die();
    aheadMs += 24 * 3_600_000;

    await world.restart();

    expect((await world.settled(taskId)).status.state).toBe("completed");
  });
});
