import { connect } from "@convoke/client";
import { describe, expect, test } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls, statusText } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { aChain } from "./a-chain.ts";
import { Hop, type HopOptions, callsOnce, toldIn } from "./a-hop.ts";
import { answer, ended, until } from "./questions.ts";

/** A worker that wants to delete a file, two agents below the one that is called. */
async function aDeletion(options: HopOptions = {}) {
  const { guarded, ran } = aGuardedTool();
  const chain = await aChain(guarded, { path: "a" }, options);
  return { ...chain, ran };
}

describe("an approval that a leaf needs", () => {
  verifies("R65", "is requested at the root, and names the agents it came through", async () => {
    const { boss, planner, worker, ran } = await aDeletion();
    const remote = await boss.client();

    const { task } = await remote.send("go");

    const [approval] = openApprovals(task!);
    expect(approval).toMatchObject({
      tool: { name: "delete", arguments: { path: "a" } },
      from: [
        { name: "planner", taskId: (await planner.task()).id },
        { name: "worker", taskId: (await worker.task()).id },
      ],
    });
    expect(approval?.id.length).toBeLessThanOrEqual(128);
    expect(statusText(task!)).toMatch(/^Approve for planner › worker: Run delete\?/);
    expect(ran).toEqual([]);

    const done = await answer(remote, task!, [answerTo(approval!, { option: "once" })]);

    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([{ path: "a" }]);
    expect(toldIn(done)).toMatchObject([{ isError: false, output: { agent: "planner" } }]);
  });

  test("is answered in plain text, if the caller supports nothing else", async () => {
    const { boss, ran } = await aDeletion();
    const remote = await connect(boss.url);
    const { task } = await remote.send("go");
    expect(task?.status.message?.parts.map(({ kind }) => kind)).toEqual(["text"]);

    const done = await answer(remote, task!, "approve");

    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([{ path: "a" }]);
  });

  test("is rejected there, with a text that the leaf receives", async () => {
    const { boss, worker, ran } = await aDeletion();
    const remote = await boss.client();
    const { task } = await remote.send("go");
    const [approval] = openApprovals(task!);
    const refusal = answerTo(approval!, { option: "reject", feedback: "keep it" });

    const done = await answer(remote, task!, [refusal]);

    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([]);
    expect(toldIn(await worker.task())).toMatchObject([
      { isError: true, output: expect.stringContaining("keep it") },
    ]);
  });

  test("may be given for other arguments, which the leaf validates", async () => {
    const { boss, ran } = await aDeletion();
    const remote = await boss.client();
    const { task } = await remote.send("go");
    const [approval] = openApprovals(task!);
    const edit = (edited: object) =>
      answerTo(approval!, { option: "edit", arguments: edited as Record<string, unknown> });

    const again = await answer(remote, task!, [edit({ path: 7 })]);

    expect(again.status.state).toBe("input-required");
    const [next] = openApprovals(again);
    const fitting = answerTo(next!, { option: "edit", arguments: { path: "b" } });
    const done = await answer(remote, again, [fitting]);
    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([{ path: "b" }]);
  });

  test("cannot be given permanently: it would apply to other callers of the root, too", async () => {
    const { boss } = await aDeletion();
    const { task } = await (await boss.client()).send("go");

    expect(openApprovals(task!)[0]?.options).toEqual(["once", "conversation", "reject", "edit"]);
  });

  test("that is decided at the leaf lets the root continue by itself", async () => {
    const { boss, worker, ran } = await aDeletion();
    const { task } = await (await boss.client()).send("go");
    const asked = await worker.task();
    const [own] = openApprovals(asked);

    await answer(await worker.client(), asked, [answerTo(own!, { option: "once" })]);

    const done = await ended(boss, task!.id);
    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([{ path: "a" }]);
  });

  test("is withdrawn by another message at the root, and the leaf is canceled", async () => {
    const { boss, planner, worker, ran } = await aDeletion();
    const remote = await boss.client();
    const { task } = await remote.send("go");

    const done = await answer(remote, task!, "never mind");

    expect(done.status.state).toBe("completed");
    await until(planner, "canceled");
    await until(worker, "canceled");
    expect(ran).toEqual([]);
  });

  test("that expires lets all of them continue without it", async () => {
    const { guarded, ran } = aGuardedTool();
    const worker = await Hop.started("worker", () => ({
      model: callsOnce(calls("delete", { path: "a" })),
      tools: [guarded],
      // It must still be open when both have been asked for it below.
      approvals: { expiresInMs: 3000 },
    }));
    const boss = await Hop.started("boss", () => ({
      model: callsOnce(calls("worker", { message: "delete a" })),
      subAgents: { worker: worker.url },
    }));
    const { task } = await (await boss.client()).send("go");
    expect(openApprovals(task!)[0]?.expiresAt).toBe(
      openApprovals(await worker.task())[0]?.expiresAt,
    );

    const done = await ended(boss, task!.id);

    expect(done.status.state).toBe("completed");
    expect(toldIn(await worker.task())).toMatchObject([{ isError: true }]);
    expect(ran).toEqual([]);
  });

  verifies("R113", "survives a restart of every agent", async () => {
    const { boss, planner, worker, ran } = await aDeletion({ onDisk: true });
    const { task } = await (await boss.client()).send("go");
    const [approval] = openApprovals(task!);

    for (const hop of [worker, planner, boss]) await hop.restart();

    const again = await until(boss, "input-required", task!.id);
    expect(openApprovals(again)).toEqual([approval]);
    const done = await answer(await boss.client(), again, [
      answerTo(approval!, { option: "once" }),
    ]);
    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([{ path: "a" }]);
    expect(await planner.tasks()).toHaveLength(1);
    expect(await worker.tasks()).toHaveLength(1);
  });

  test("can be answered while the agents in between were down", async () => {
    const { boss, planner, worker, ran } = await aDeletion({ onDisk: true });
    const remote = await boss.client();
    const { task } = await remote.send("go");
    const [approval] = openApprovals(task!);
    await planner.stop();
    await worker.stop();

    const done = answer(remote, task!, [answerTo(approval!, { option: "once" })]);
    await worker.start();
    await planner.start();

    expect((await done).status.state).toBe("completed");
    expect(ran).toEqual([{ path: "a" }]);
    expect(await worker.tasks()).toHaveLength(1);
  });
});

test("the approvals of two parallel sub-agents are requested together", async () => {
  const first = aGuardedTool();
  const second = aGuardedTool();
  const [ann, bob] = await Promise.all(
    [first, second].map(({ guarded }, place) =>
      Hop.started(`worker-${place}`, () => ({
        model: callsOnce(calls("delete", { path: `file-${place}` })),
        tools: [guarded],
      })),
    ),
  );
  const boss = await Hop.started("boss", () => ({
    model: callsOnce(calls("ann", { message: "a" }), calls("bob", { message: "b" })),
    subAgents: { ann: ann!.url, bob: bob!.url },
  }));
  const remote = await boss.client();

  const { task } = await remote.send("go");

  const asked = openApprovals(task!);
  expect(asked.map(({ from }) => from?.[0]?.name)).toEqual(["ann", "bob"]);
  const [one, other] = asked;
  const half = await answer(remote, task!, [answerTo(one!, { option: "once" })]);
  expect(openApprovals(half)).toEqual([other]);
  const done = await answer(remote, half, [answerTo(other!, { option: "reject" })]);
  expect(done.status.state).toBe("completed");
  expect(first.ran).toEqual([{ path: "file-0" }]);
  expect(second.ran).toEqual([]);
});
