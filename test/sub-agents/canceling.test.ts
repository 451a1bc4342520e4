import { tool } from "@convoke/runtime";
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { calls } from "../loop/scripts.ts";
import { aChain } from "./a-chain.ts";
import { Hop, callsOnce, toldIn } from "./a-hop.ts";
import { until } from "./questions.ts";

/** A tool that works until its signal fires. */
function endless() {
  let aborted = 0;
  let begun = 0;
  const work = tool({
    name: "work",
    description: "Works for ever.",
    run: (_, { signal }) => {
      begun += 1;
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          aborted += 1;
          reject(signal.reason as Error);
        });
      });
    },
    idempotent: true,
  });
  return {
    work,
    get aborted() {
      return aborted;
    },
    get begun() {
      return begun;
    },
  };
}

describe("canceling the root", () => {
  test("cancels all agents that work for it", async () => {
    const endlessly = endless();
    const { boss, planner, worker } = await aChain(endlessly.work);
    const remote = await boss.client();
    const { task } = await remote.send("go", { wait: false });
    await expect.poll(() => endlessly.begun, { timeout: 20_000 }).toBe(1);

    await remote.cancel(task!.id);

    await until(planner, "canceled");
    await until(worker, "canceled");
    await expect.poll(() => endlessly.aborted).toBe(1);
    expect([boss, planner, worker].map(({ asked }) => asked)).toEqual([1, 1, 1]);
  });

  test("while a leaf waits for an approval cancels all of them, too", async () => {
    const { guarded, ran } = aGuardedTool();
    const { boss, planner, worker } = await aChain(guarded, { path: "a" });
    const remote = await boss.client();
    const { task } = await remote.send("go");
    expect(task?.status.state).toBe("input-required");

    await remote.cancel(task!.id);

    await until(planner, "canceled");
    await until(worker, "canceled");
    expect(ran).toEqual([]);
  });

  test("reaches the agents that work for it, even if another part of the root does not stop", async () => {
    const endlessly = endless();
    const worker = await Hop.started("worker", () => ({
      model: callsOnce(calls("work")),
      tools: [endlessly.work],
    }));
    const boss = await Hop.started("boss", () => ({
      model: callsOnce(calls("worker", { message: "go" }), calls("worker", { message: "stay" })),
      subAgents: { worker: worker.url },
      hooks: {
        beforeTool: ({ input }) =>
          input["message"] === "stay" ? new Promise<undefined>(() => undefined) : undefined,
      },
    }));
    const remote = await boss.client();
    const { task } = await remote.send("go", { wait: false });
    await expect.poll(() => endlessly.begun, { timeout: 20_000 }).toBe(1);

    await remote.cancel(task!.id);

    await until(worker, "canceled");
  });

  test("reaches an agent that was down, even if the root was restarted in the meantime", async () => {
    const endlessly = endless();
    const chain = await aChain(endlessly.work, {}, { onDisk: true });
    const { boss, planner, worker } = chain;
    const remote = await boss.client();
    const { task } = await remote.send("go", { wait: false });
    await expect.poll(() => endlessly.begun, { timeout: 20_000 }).toBe(1);
    const kept = (): readonly string[] =>
      readdirSync(boss.folder!).filter((name) => name.startsWith("sub-agent-cancel-"));
    await planner.stop();

    await remote.cancel(task!.id);
    expect(kept()).toHaveLength(1);
    await boss.restart();
    await planner.start();

    await until(planner, "canceled");
    await until(worker, "canceled");
    await expect.poll(kept, { timeout: 20_000 }).toEqual([]);
  });
});

describe("a restart", () => {
  test.each(["boss", "planner"] as const)(
    "of %s while a leaf works resumes the same tasks",
    async (name) => {
      const finished = Promise.withResolvers<string>();
      let begun = 0;
      const work = tool({
        name: "work",
        description: "Works until it is let.",
        run: () => {
          begun += 1;
          return finished.promise;
        },
      });
      const chain = await aChain(work, {}, { onDisk: true });
      const { boss, planner, worker } = chain;
      const { task } = await (await boss.client()).send("go", { wait: false });
      await expect.poll(() => begun, { timeout: 20_000 }).toBe(1);

      await chain[name].restart();
      finished.resolve("worked");

      const done = await until(boss, "completed", task!.id);
      expect(toldIn(done)).toMatchObject([{ isError: false, output: { agent: "planner" } }]);
      expect(await planner.tasks()).toHaveLength(1);
      expect(await worker.tasks()).toHaveLength(1);
      expect(begun).toBe(1);
      expect([boss, planner, worker].map(({ asked }) => asked)).toEqual([2, 2, 2]);
    },
  );
});

test("a sub-agent that times out is canceled, and its caller receives the duration", async () => {
  const endlessly = endless();
  const worker = await Hop.started("worker", () => ({
    model: callsOnce(calls("work")),
    tools: [endlessly.work],
  }));
  const boss = await Hop.started("boss", () => ({
    model: callsOnce(calls("worker", { message: "go" })),
    subAgents: { worker: { url: worker.url, timeoutMs: 2000 } },
  }));

  const { task } = await (await boss.client()).send("go");

  expect(toldIn(task!)).toMatchObject([
    {
      isError: true,
      output: "Tool worker failed: it took longer than 2 s and was stopped",
    },
  ]);
  // The status of the root says so as well, with the agent's name.
  const { id: childTaskId } = await until(worker, "canceled");
  expect(task!.history?.at(-1)).toMatchObject({
    parts: [{ text: "Tool worker failed: it took longer than 2 s and was stopped" }],
    referenceTaskIds: [childTaskId],
    metadata: { subAgent: { name: "worker", taskId: childTaskId } },
  });
  expect(endlessly.aborted).toBe(1);
});
