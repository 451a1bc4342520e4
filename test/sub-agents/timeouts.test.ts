import { expect, test } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { calls } from "../loop/scripts.ts";
import { Hop, callsOnce, toldIn } from "./a-hop.ts";
import { ended, until } from "./questions.ts";

test("a root whose wait times out continues without its sub-agent, which is canceled", async () => {
  const { guarded, ran } = aGuardedTool();
  const worker = await Hop.started("worker", () => ({
    model: callsOnce(calls("delete", { path: "a" })),
    tools: [guarded],
  }));
  const boss = await Hop.started("boss", () => ({
    model: callsOnce(calls("worker", { message: "delete a" })),
    subAgents: { worker: worker.url },
    inputTimeout: { ms: 500, onTimeout: "continue" },
  }));

  const { task } = await (await boss.client()).send("go");

  const done = await ended(boss, task!.id);
  expect(done.status.state).toBe("completed");
  expect(toldIn(done)).toMatchObject([
    { isError: true, output: "Not finished: nobody answered in time." },
  ]);
  await until(worker, "canceled");
  expect(ran).toEqual([]);
});
