import { connect } from "@convoke/client";
import type { Task } from "@convoke/protocol";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { statusText } from "../loop/scripts.ts";
import { type Hop, toldIn } from "../sub-agents/a-hop.ts";
import { answer, ended, until } from "../sub-agents/questions.ts";
import { verifies } from "../verifies.ts";
import { aBossOf } from "./a-boss.ts";
import type { SdkWork } from "./sdk-worker.ts";
import { startWorkerV03 } from "./sdk-worker-v03.ts";
import { startWorkerV1 } from "./sdk-worker-v1.ts";

// The SDKs log unknown referenced tasks to the console.
beforeEach(() => {
  const silenced = vi.spyOn(console, "warn").mockReturnValue();
  return () => silenced.mockRestore();
});

/** The other tasks that a task references. */
function named({ history = [], status }: Task): ReadonlySet<string> {
  const said = [...history, ...(status.message ? [status.message] : [])];
  const words = said.filter(({ role }) => role === "agent");
  return new Set(words.flatMap(({ referenceTaskIds = [] }) => referenceTaskIds));
}

describe.each([
  ["0.3.14", startWorkerV03],
  ["1.3.0", startWorkerV1],
] as const)("a server of @a2a-js/sdk %s as a sub-agent", (_, start) => {
  async function aWorld(
    message: string,
    onDisk = false,
  ): Promise<{ readonly boss: Hop; readonly work: SdkWork; readonly url: string }> {
    const worker = await start();
    onTestFinished(() => worker.close());
    const { url, work } = worker;
    return { boss: await aBossOf(url, { message, onDisk }), work, url };
  }

  verifies(
    ["R62", "R66"],
    "streams its answer, and receives the id of the task it works for",
    async () => {
      const { boss, work } = await aWorld("hello");

      const { task } = await (await boss.client()).send("go");

      expect(toldIn(task!)).toMatchObject([
        {
          isError: false,
          output: { agent: "other", state: "completed", artifacts: [{ text: "You said hello." }] },
        },
      ]);
      const [told] = work.told;
      expect(told?.referenceTaskIds).toEqual([task!.id]);
      expect(named(task!)).toEqual(new Set([told?.taskId]));
    },
  );

  verifies("loop-L10", "that fails is a failed tool, with its text as a quotation", async () => {
    const { boss } = await aWorld("fail");

    const { task } = await (await boss.client()).send("go");

    expect(task?.status.state).toBe("completed");
    expect(toldIn(task!)).toMatchObject([
      { isError: true, output: 'other failed. Its words, which are data: "It broke."' },
    ]);
  });

  test("asks in text, also across a restart of its caller, and is answered once", async () => {
    const { boss, work } = await aWorld("ask", true);
    const { task } = await (await boss.client()).send("go");
    expect(statusText(task!)).toBe("other asks: How many?");

    await boss.restart();
    const asked = await until(boss, "input-required", task!.id);
    const done = await answer(await boss.client(), asked, "three");

    expect(done.status.state).toBe("completed");
    expect(toldIn(done)).toMatchObject([
      { isError: false, output: { artifacts: [{ text: "You said three." }] } },
    ]);
    expect(work.told.map(({ text }) => text)).toEqual(["ask", "three"]);
    expect(new Set(work.told.map(({ taskId }) => taskId)).size).toBe(1);
  });

  test("is canceled with its caller, while it works and while it waits", async () => {
    for (const message of ["wait", "ask"]) {
      const { boss, work, url } = await aWorld(message);
      const remote = await boss.client();
      const { task } = await remote.send("go", { wait: false });
      await expect.poll(() => work.told.length, { timeout: 20_000 }).toBe(1);
      if (message === "ask") await until(boss, "input-required", task!.id);

      await remote.cancel(task!.id);

      const there = await connect(url);
      const { taskId } = work.told[0]!;
      await expect
        .poll(async () => (await there.get(taskId)).status.state, { timeout: 20_000 })
        .toBe("canceled");
      expect(boss.asked).toBe(1);
    }
  });

  verifies("R113", "is found again by a restarted caller, and not called again", async () => {
    const { boss, work } = await aWorld("wait", true);
    const { task } = await (await boss.client()).send("go", { wait: false });
    const begun = async (): Promise<number> => named(await boss.task()).size;
    await expect.poll(begun, { timeout: 20_000 }).toBe(1);

    const before = work.requests;
    await boss.restart();
    // It follows the task again, which is still working.
    await expect.poll(() => work.requests, { timeout: 20_000 }).toBeGreaterThan(before);
    work.release();

    const done = await ended(boss, task!.id);
    expect(done.status.state).toBe("completed");
    expect(toldIn(done)).toMatchObject([
      { isError: false, output: { artifacts: [{ text: "You said wait." }] } },
    ]);
    expect(work.told).toHaveLength(1);
    expect(boss.asked).toBe(2);
  });
});
