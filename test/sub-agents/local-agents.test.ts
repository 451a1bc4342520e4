import { AgentLoop, defineAgent, tool } from "@convoke/runtime";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls } from "../loop/scripts.ts";
import { Hop, callsOnce, toldIn } from "./a-hop.ts";
import { answer, until } from "./questions.ts";

const TEXT = [{ kind: "text", text: "go" }] as const;

/** An agent that deletes a file after an approval. */
function aDeleter() {
  const { guarded, ran } = aGuardedTool();
  const deleter = defineAgent({
    name: "deleter",
    description: "Deletes.",
    model: callsOnce(calls("delete", { path: "a" })),
    tools: [guarded],
  });
  return { deleter, ran };
}

describe("an agent in the same process, called by a standalone loop", () => {
  test("does its work, and asks through its caller", async () => {
    const { deleter, ran } = aDeleter();
    await using loop = new AgentLoop({
      model: callsOnce(calls("deleter", { message: "delete a" })),
      subAgents: { deleter },
    });

    const asked = await loop.invokeSync(TEXT);
    const [approval] = openApprovals(asked);
    expect(approval?.from).toMatchObject([{ name: "deleter" }]);
    expect(ran).toEqual([]);
    const done = await loop.invokeSync([answerTo(approval!, { option: "once" })], {
      taskId: asked.id,
    });

    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([{ path: "a" }]);
    expect(toldIn(done)).toMatchObject([
      { isError: false, output: { agent: "deleter", state: "completed" } },
    ]);
  });

  test("is canceled with it", async () => {
    const stopped = Promise.withResolvers<unknown>();
    const begun = Promise.withResolvers<undefined>();
    const worker = defineAgent({
      name: "worker",
      description: "Works for ever.",
      async *run({ signal }) {
        begun.resolve(undefined);
        await new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            stopped.resolve("stopped");
            reject(signal.reason as Error);
          });
        });
        yield "never";
      },
    });
    await using loop = new AgentLoop({
      model: callsOnce(calls("worker", { message: "work" })),
      subAgents: { worker: { agent: worker } },
    });
    const task = loop.invokeSync(TEXT, { taskId: "t" });
    await begun.promise;

    await loop.cancel("t");

    expect((await task).status.state).toBe("canceled");
    expect(await stopped.promise).toBe("stopped");
  });
});

describe("an agent in the same process, called by a served one", () => {
  test("is served alongside it, and asks through it, also after a restart", async () => {
    const { guarded, ran } = aGuardedTool();
    const boss = await Hop.started(
      "boss",
      () => ({
        model: callsOnce(calls("deleter", { message: "delete a" })),
        subAgents: {
          deleter: defineAgent({
            name: "deleter",
            description: "Deletes.",
            model: callsOnce(calls("delete", { path: "a" })),
            tools: [guarded],
          }),
        },
      }),
      { onDisk: true },
    );
    const { task } = await (await boss.client()).send("go");
    const [approval] = openApprovals(task!);
    expect(approval?.from).toMatchObject([{ name: "deleter" }]);

    await boss.restart();

    const again = await until(boss, "input-required", task!.id);
    const done = await answer(await boss.client(), again, [
      answerTo(approval!, { option: "once" }),
    ]);
    expect(done.status.state).toBe("completed");
    expect(ran).toEqual([{ path: "a" }]);
    expect(toldIn(done)).toMatchObject([{ isError: false, output: { agent: "deleter" } }]);
  });

  test("starts as soon as its storage is available, and a call waits for it", async () => {
    const boss = new Hop(
      "boss",
      () => ({
        model: callsOnce(calls("echo", { message: "hello" })),
        subAgents: {
          echo: defineAgent({ name: "echo", description: "Echoes.", run: ({ text }) => text }),
        },
      }),
      { onDisk: true },
    );
    // A file where the folders of sub-agents should be.
    const obstacle = join(boss.folder!, "agents");
    writeFileSync(obstacle, "");
    await boss.start();
    const log = () => boss.logger.lines.join("\n");
    await expect.poll(log, { timeout: 20_000 }).toContain("cannot be started yet");

    const sent = (await boss.client()).send("go");
    // Longer than a call waits for an agent elsewhere.
    await sleep(6000);
    rmSync(obstacle);

    const { task } = await sent;
    expect(toldIn(task!)).toMatchObject([{ isError: false, output: { agent: "echo" } }]);
  }, 60_000);
});

test("a call of an agent that cannot be started fails without the operator's reason", async () => {
  const echo = defineAgent({ name: "echo", description: "Echoes.", run: ({ text }) => text });
  const boss = new Hop(
    "boss",
    () => ({
      model: callsOnce(calls("echo", { message: "hello" })),
      subAgents: { echo: { agent: echo, retryForMs: 0 } },
    }),
    { onDisk: true },
  );
  writeFileSync(join(boss.folder!, "agents"), "");
  await boss.start();

  const { task } = await (await boss.client()).send("go");

  expect(JSON.stringify(toldIn(task!))).toContain("echo failed: it cannot be started now");
});

describe("an invalid definition", () => {
  const model = callsOnce();
  const taken = tool({ name: "taken", description: "Is there.", run: () => "yes" });
  const cases: readonly [unknown, string][] = [
    [{ "not a name": "https://a.example" }, "the name of a sub-agent is that of its tool"],
    [{ taken: "https://a.example" }, "subAgents.taken has the name of a tool"],
    [{ other: "ftp://a.example" }, "subAgents.other.url must be an http or https address"],
    [{ other: "https://me:secret@a.example" }, "subAgents.other.url must not hold a password"],
    [{ other: {} }, "subAgents.other needs either a url or an agent"],
    [{ other: 7 }, "subAgents.other must be an address, an agent"],
    [{ other: { agent: {} } }, "subAgents.other.agent must be what defineAgent makes"],
    [
      { other: { url: "https://a.example", confrim: "ask" } },
      "subAgents.other.confrim is no setting of a sub-agent with a url; remove it",
    ],
    [
      { other: { url: "https://a.example", confirm: "maybe" } },
      'subAgents.other.confirm must be "never", "ask" or a function',
    ],
    [
      { other: { url: "https://a.example", timeoutMs: 0 } },
      "subAgents.other.timeoutMs must be above 0, not 0",
    ],
    [
      { other: { url: "https://a.example", retryForMs: -1 } },
      "subAgents.other.retryForMs must be 0 or more, not -1",
    ],
    [[], "subAgents must be an object of agents"],
  ];

  test.each(cases)("%o is rejected immediately", (subAgents, why) => {
    const define = (): unknown =>
      defineAgent({
        name: "boss",
        description: "Calls others.",
        model,
        tools: [taken],
        subAgents: subAgents as Record<string, string>,
      });

    expect(define).toThrow(TypeError);
    expect(define).toThrow(why);
  });
});
