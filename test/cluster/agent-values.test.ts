import { tool } from "@convoke/runtime";
import { expect, test } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls } from "../loop/scripts.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { Hop, callsOnce } from "../sub-agents/a-hop.ts";

const address = needsPostgres();

test("an approval for always counts at every server, also for later conversations", async () => {
  const database = await address();
  const { guarded, ran } = aGuardedTool();
  const define = () => ({
    model: callsOnce(calls("delete", { path: "a" })),
    tools: [guarded],
  });
  const a = await Hop.started("deleter", define, { database });
  const b = await Hop.started("deleter", define, { database });
  const remote = await a.client();
  const { task: asked } = await remote.send("go");
  const { id: taskId, contextId } = asked!;

  const answer = answerTo(openApprovals(asked!)[0]!, { option: "always" });
  await remote.send([answer], { taskId, contextId });
  const { task } = await (await b.client()).send("go");

  expect(asked?.status.state).toBe("input-required");
  expect(task?.status.state).toBe("completed");
  expect(ran).toHaveLength(2);
});

test("a cancel that a server owes to a sub-agent is sent by another one", async () => {
  const database = await address();
  let begun = 0;
  const work = tool({
    name: "work",
    description: "Works for ever.",
    run: (_, { signal }) => {
      begun += 1;
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    },
    idempotent: true,
  });
  const worker = await Hop.started(
    "worker",
    () => ({ model: callsOnce(calls("work")), tools: [work] }),
    { onDisk: true },
  );
  const boss = () => ({
    model: callsOnce(calls("worker", { message: "go" })),
    subAgents: { worker: worker.url },
  });
  const a = await Hop.started("boss", boss, { database });
  await Hop.started("boss", boss, { database });
  const remote = await a.client();
  const { task } = await remote.send("go", { wait: false });
  await expect.poll(() => begun, { timeout: 20_000 }).toBe(1);
  await worker.stop();

  await remote.cancel(task!.id);
  await a.stop();
  await worker.start();

  const state = async (): Promise<string> => (await worker.task()).status.state;
  await expect.poll(state, { timeout: 25_000, interval: 200 }).toBe("canceled");
});
