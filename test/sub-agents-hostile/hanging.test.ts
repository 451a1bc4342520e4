import { describe, expect, test } from "vitest";
import { statusText } from "../loop/scripts.ts";
import { toldIn } from "../sub-agents/a-hop.ts";
import { ended } from "../sub-agents/questions.ts";
import { aBossOf } from "./a-boss.ts";
import { type HostileCall, aHostileAgent, hangsAfter, shows, streams } from "./hostile-agent.ts";
import { aStatus, aTask } from "./hostile-words.ts";

/** Long enough for the call to arrive on a busy machine, too. */
const RULES = { timeoutMs: 2000 };
const TOO_LONG = [
  { isError: true, output: "Tool other failed: it took longer than 2 s and was stopped" },
];

describe("a sub-agent that hangs", () => {
  test("before its first event fails at its timeout", async () => {
    const agent = await aHostileAgent({});
    const boss = await aBossOf(agent.url, { rules: RULES });

    const { task } = await (await boss.client()).send("go");

    expect(task?.status.state).toBe("completed");
    expect(toldIn(task!)).toMatchObject(TOO_LONG);
    expect(agent.seen.map(({ method }) => method)).toEqual(["SendStreamingMessage"]);
  });

  test("after its task has started fails and is canceled, even if the cancel is never answered", async () => {
    const agent = await aHostileAgent({
      SendStreamingMessage: (call) => hangsAfter(call, [aTask("working")]),
    });
    const boss = await aBossOf(agent.url, { rules: RULES });

    const { task } = await (await boss.client()).send("go");

    expect(toldIn(task!)).toMatchObject(TOO_LONG);
    await expect.poll(() => agent.seen.at(-1)?.method).toBe("CancelTask");
    const before = Date.now();
    await boss.stop();
    expect(Date.now() - before).toBeLessThan(20_000);
  });

  test("and returns its task after its timeout is canceled then", async () => {
    let open: HostileCall | undefined;
    const agent = await aHostileAgent({
      SendStreamingMessage: (call) => {
        open = call;
      },
      CancelTask: (call) => shows(call, aTask("canceled")),
    });
    const boss = await aBossOf(agent.url, { rules: RULES });
    const { task } = await (await boss.client()).send("go");
    expect(toldIn(task!)).toMatchObject(TOO_LONG);

    hangsAfter(open!, [aTask("working")]);

    await expect
      .poll(() => agent.seen.find(({ method }) => method === "CancelTask")?.params["id"], {
        timeout: 20_000,
      })
      .toBe("t1");
  });
});

describe("a sub-agent that asks", () => {
  test("something else on every poll is abandoned after a hundred times", async () => {
    const question = (call: HostileCall): void =>
      hangsAfter(call, [aTask("working"), aStatus("input-required", "And now?")]);
    const agent = await aHostileAgent({
      SendStreamingMessage: question,
      SubscribeToTask: question,
      CancelTask: (call) => shows(call, aTask("canceled")),
    });
    const boss = await aBossOf(agent.url);

    const { task } = await (await boss.client()).send("go", { wait: false });

    const done = await ended(boss, task!.id);
    expect(toldIn(done)).toMatchObject([
      { isError: true, output: "other failed: it asked 100 times" },
    ]);
  });

  test("the same again and again, and reports working in between, is abandoned as well", async () => {
    const asks = aStatus("input-required", "And now?", { messageId: "q" });
    const agent = await aHostileAgent({
      SendStreamingMessage: (call) => streams(call, [aTask("working"), asks]),
      SubscribeToTask: (call) => hangsAfter(call, [aTask("working"), asks]),
      CancelTask: (call) => shows(call, aTask("canceled")),
    });
    const boss = await aBossOf(agent.url);

    const { task } = await (await boss.client()).send("go", { wait: false });

    const done = await ended(boss, task!.id);
    expect(toldIn(done)).toMatchObject([
      {
        isError: true,
        output: expect.stringMatching(/^other failed: it asked the same 100 times/),
      },
    ]);
    expect(statusText(done)).toBe("");
  });
});
