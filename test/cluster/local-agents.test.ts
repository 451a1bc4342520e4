import { textOf } from "@convoke/protocol";
import { serve } from "@convoke/server";
import { type AgentDefinition, defineAgent } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";
import { SharedMemory } from "./shared-memory.ts";
import { CARD, TestReplica } from "./test-replica.ts";

const EVENTUALLY = { timeout: 20_000 };

/** Replicas of a local agent on two hosts. The agent says on which host it runs. */
async function twoHosts(run: (host: string) => AgentDefinition["run"], more = {}) {
  const shared = new SharedMemory();
  const start = (host: string): Promise<TestReplica> =>
    TestReplica.start(shared, { local: true, ...more, run: run(host) }, {}, host);
  return { shared, start, a: await start("one"), b: await start("two") };
}

describe("the tasks of a local agent", () => {
  test("continue on their host when a process of another one gets the answer", async () => {
    const { a, b } = await twoHosts(
      (host) =>
        async ({ ask }) =>
          `${await ask("?")} on ${host}`,
    );
    const { id: taskId } = await a.send("go");

    const task = await b.send("yes", { taskId });

    expect(textOf(task)).toBe("yes on one");
    expect(await b.follow(taskId, "0")).toEqual(await a.follow(taskId, "0"));
  });

  test("are followed on their host by the next task of their conversation", async () => {
    const { a, b } = await twoHosts((host) => async () => `on ${host}`);
    const { contextId } = await a.send("go");

    const [next, other] = [await b.send("on", { contextId }), await b.send("go")];

    expect([textOf(next), textOf(other)]).toEqual(["on one", "on two"]);
  });

  verifies("G3", "wait for a process on their host, which the others report", async () => {
    const hangs = new Set(["one"]);
    const { shared, a, b, start } = await twoHosts(
      (host) =>
        ({ step }) =>
          step("work", () => (hangs.delete(host) ? new Promise<string>(() => {}) : `on ${host}`), {
            idempotent: true,
          }),
    );
    const { id: taskId } = await a.send("go", {}, false);

    await expect.poll(() => hangs.size, EVENTUALLY).toBe(0);
    a.crash();

    await expect
      .poll(() => b.engine.sharing?.waitingForHosts, EVENTUALLY)
      .toEqual([{ host: "one", tasks: 1 }]);
    expect(await b.state(taskId)).toBe("working");
    const server = await serve(defineAgent({ ...CARD, local: true, run: () => "" }), {
      port: 0,
      host: "127.0.0.1",
      logger: memoryLogger(),
      openBackend: async () => ({ backend: shared.open("two") }),
    });
    onTestFinished(() => server.close());
    await expect
      .poll(async () => (await fetch(new URL("/ready", server.url))).json(), EVENTUALLY)
      .toEqual({ status: "ok", tasksWaitingForHost: 1 });
    await start("one");
    await expect.poll(() => b.state(taskId), EVENTUALLY).toBe("completed");
    expect(textOf(await b.get(taskId))).toBe("on one");
  });

  verifies(
    "G10",
    "can be canceled anywhere, with and without a process on their host",
    async () => {
      const { a, b } = await twoHosts(
        () =>
          ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener("abort", () => reject(signal.reason as Error));
            }),
      );
      const tasks = [await a.send("one", {}, false), await a.send("two", {}, false)] as const;

      const first = await b.cancel(tasks[0].id);
      a.crash();
      const second = await b.cancel(tasks[1].id);

      expect([first, second].map(({ status }) => status.state)).toEqual(["canceled", "canceled"]);
    },
  );

  test("receive messages on their host, when a process is there", async () => {
    const { a, b, start } = await twoHosts(
      (host) =>
        async ({ inbox, step }) => {
          await step("begin", () => "begun", { idempotent: true });
          const heard = [await inbox.next(), await inbox.next()];
          return `${heard.map(({ value }) => textOf(value!)).join(", ")} on ${host}`;
        },
      { takesMessages: true },
    );
    const { id: taskId } = await a.send("go", {}, false);
    await b.send("first", { taskId }, false);
    a.crash();

    await expect(b.send("second", { taskId }, false)).rejects.toThrow(
      'has to run on the host "one", where no server is up',
    );

    await start("one");
    await expect.poll(() => b.state(taskId), EVENTUALLY).toBe("completed");
    expect(textOf(await b.get(taskId))).toBe("first, second on one");
  });
});
