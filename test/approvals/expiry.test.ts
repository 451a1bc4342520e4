import { inputRequired, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { LoopWorld } from "../loop/a-loop-world.ts";
import { openApprovals } from "../loop/approval-parts.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { aGuardedTool } from "./a-guarded-tool.ts";

const asking = tool({
  name: "asking",
  description: "Asks.",
  run: (_, { answers }) => answers.get("input")?.text ?? inputRequired("What?"),
});

const HOUR_MS = 3_600_000;

const EXPIRED = "Not run: nobody approved it in time.";

describe("an expired approval", () => {
  verifies("G11", "is rejected by the clock, and the agent continues", async () => {
    const { guarded, ran } = aGuardedTool();
    const model = scriptedModel([calls("delete", { path: "a" }), "Fine."]);
    const world = new LoopWorld({ model, tools: [guarded], approvals: { expiresInMs: 50 } });
    const asked = await world.ask("go");

    await world.hasEvent(asked.id, "internal:expired");
    // By the log: on a busy machine the wait may be over before anyone has looked at the task.
    expect(await world.states(asked.id)).toContain("input-required");

    const done = await world.settled(asked.id);
    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([]);
    expect(resultsTold(model.requests)).toEqual([EXPIRED]);
    const decided = await world.notes(asked.id, "internal:approval-decided");
    expect(decided).toMatchObject([{ outcome: "expired" }]);
    expect(decided[0]).not.toHaveProperty("decidedBy");
  });

  test.each([
    ["while the server is down", HOUR_MS + 1000],
    ["after the server came back", HOUR_MS - 200],
  ])("%s is rejected as well", async (_, downMs) => {
    const { guarded, ran } = aGuardedTool();
    const model = scriptedModel([calls("delete", { path: "a" }), "Fine."]);
    let aheadMs = 0;
    const world = new LoopWorld(
      { model, tools: [guarded], approvals: { expiresInMs: HOUR_MS } },
      { now: () => Date.now() + aheadMs },
    );
    const asked = await world.ask("go");
    world.die();
    aheadMs = downMs;

    expect(await world.restart()).toMatchObject({ resumed: 0, ended: 0, waiting: 1 });

    await world.hasEvent(asked.id, "internal:checkpoint", 2);
    expect((await world.settled(asked.id)).status.state).toBe("completed");
    expect(ran).toEqual([]);
    expect(resultsTold(model.requests)).toEqual([EXPIRED]);
  });

  test("does not affect other pending requests, which are asked again and keep waiting", async () => {
    const { guarded } = aGuardedTool();
    const model = scriptedModel([[calls("delete", { path: "a" }), calls("asking")], "Fine."]);
    const tools = [guarded, asking];
    const world = new LoopWorld({ model, tools, approvals: { expiresInMs: 50 } });
    const asked = await world.ask("go");

    await world.hasEvent(asked.id, "internal:ask", 2);
    const again = await world.settled(asked.id);
    expect(openApprovals(again)).toEqual([]);
    await world.restart();
    const done = await world.ask("that", { taskId: asked.id });

    expect(done.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([EXPIRED, "that"]);
  });

  test("is not an input timeout: it does not fail the task", async () => {
    const { guarded } = aGuardedTool();
    const model = scriptedModel([calls("delete", { path: "a" }), "Fine."]);
    const world = new LoopWorld({
      model,
      tools: [guarded],
      approvals: { expiresInMs: 40 },
      inputTimeout: { ms: 3_600_000, onTimeout: "fail" },
    });
    const asked = await world.ask("go");

    await world.hasEvent(asked.id, "internal:expired");

    expect((await world.settled(asked.id)).status.state).toBe("completed");
  });
});

describe("an input timeout that comes first", () => {
  test("fails the task, if the agent is configured that way", async () => {
    const { guarded } = aGuardedTool();
    const world = new LoopWorld({
      model: scriptedModel([calls("delete", { path: "a" })]),
      tools: [guarded],
      approvals: { expiresInMs: 3_600_000 },
      inputTimeout: { ms: 40, onTimeout: "fail" },
    });
    const asked = await world.ask("go");

    await expect
      .poll(async () => (await world.backend.tasks.get(asked.id))?.state, { timeout: 20_000 })
      .toBe("failed");
  });

  test("lets the agent continue without an answer, also if it is restarted", async () => {
    const { guarded, ran } = aGuardedTool();
    const model = scriptedModel([[calls("delete", { path: "a" }), calls("asking")], "Fine."]);
    let aheadMs = 0;
    const world = new LoopWorld(
      {
        model,
        tools: [guarded, asking],
        approvals: { expiresInMs: 2 * HOUR_MS },
        inputTimeout: { ms: HOUR_MS, onTimeout: "continue" },
      },
      { now: () => Date.now() + aheadMs },
    );
    const asked = await world.ask("go");
    aheadMs = HOUR_MS - 200;
    await world.restart();

    await world.hasEvent(asked.id, "internal:checkpoint", 2);

    expect((await world.settled(asked.id)).status.state).toBe("completed");
    expect(ran).toEqual([]);
    expect(resultsTold(model.requests)).toEqual([
      EXPIRED,
      "Not finished: nobody answered in time.",
    ]);
    expect(JSON.stringify(await world.events(asked.id))).toContain("Continuing without client");
  });
});
