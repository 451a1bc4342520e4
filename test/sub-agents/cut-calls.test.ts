import { createMemoryBackend } from "@convoke/engine/memory";
import { scriptedModel } from "@convoke/runtime/testing";
import { tool } from "@convoke/runtime";
import { describe, expect, test } from "vitest";
import { slowBackend } from "../engine/slow-backend.ts";
import { LoopWorld } from "../loop/a-loop-world.ts";
import { calls } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { Hop, callsOnce, toldIn } from "./a-hop.ts";
import { until } from "./questions.ts";

/** A path to an agent on which the responses to messages are delayed, as by a slow network. */
class SlowWay {
  readonly #gate = Promise.withResolvers<undefined>();
  /** How many messages have arrived at the agent. */
  arrived = 0;
  readonly #isForgetful: boolean;

  /** A forgetful agent does not declare idempotency. */
  constructor({ isForgetful = false } = {}) {
    this.#isForgetful = isForgetful;
  }

  open(): void {
    this.#gate.resolve(undefined);
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const body = await request.clone().text();
    const isMessage = body.includes("SendStreamingMessage");
    const response = await fetch(request);
    if (isMessage) {
      this.arrived += 1;
      await this.#gate.promise;
    }
    if (!this.#isForgetful || !request.url.includes("agent-card")) return response;
    const card = (await response.text()).replaceAll("extensions/idempotency", "extensions/none");
    return new Response(card, { headers: response.headers });
  };
}

test("a sub-agent is called once the call is on disk, and not earlier", async () => {
  const stored: (readonly string[])[] = [];
  const worker = await Hop.started("worker", () => ({ model: scriptedModel(["Worked."]) }));
  const look: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if ((await request.clone().text()).includes("SendStreamingMessage")) {
      stored.push((await world.events(taskId)).map(({ kind }) => kind));
    }
    return fetch(request);
  };
  const world = new LoopWorld(
    {
      model: callsOnce(calls("worker", { message: "work" })),
      subAgents: { worker: { url: worker.url, fetch: look } },
    },
    // A reader that does not wait for a commit is ahead of it.
    { backend: slowBackend(createMemoryBackend(), 50) },
  );
  const taskId = await world.tell("go");

  expect((await world.settled(taskId)).status.state).toBe("completed");

  expect(stored).toHaveLength(1);
  expect(stored[0]).toContain("internal:sub-agent-call");
});

describe("a call that is interrupted before the sub-agent has returned its task", () => {
  async function aCutCall(way: SlowWay) {
    const worker = await Hop.started("worker", () => ({ model: scriptedModel(["Worked."]) }));
    const boss = await Hop.started(
      "boss",
      () => ({
        model: callsOnce(calls("worker", { message: "work" })),
        subAgents: { worker: { url: worker.url, fetch: way.fetch } },
      }),
      { onDisk: true },
    );
    // The trace is in what is stored, and must not be copied into the message.
    const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
    const { task } = await (await boss.client()).send("go", { wait: false, trace });
    await expect.poll(() => way.arrived, { timeout: 20_000 }).toBe(1);
    await boss.stop();
    way.open();
    await boss.start();
    return { worker, boss, taskId: task!.id };
  }

  verifies("R113", "is repeated with the same message, and finds the same task", async () => {
    const way = new SlowWay();

    const { worker, boss, taskId } = await aCutCall(way);

    const done = await until(boss, "completed", taskId);
    expect(toldIn(done)).toMatchObject([{ isError: false, output: { agent: "worker" } }]);
    expect(way.arrived).toBe(2);
    expect(await worker.tasks()).toHaveLength(1);
  });

  test("is not repeated if the agent does not support idempotency", async () => {
    const way = new SlowWay({ isForgetful: true });

    const { worker, boss, taskId } = await aCutCall(way);

    const done = await until(boss, "completed", taskId);
    expect(toldIn(done)).toMatchObject([
      { isError: true, output: expect.stringMatching(/^Unknown: .* may or may not have started/) },
    ]);
    expect(way.arrived).toBe(1);
    expect(await worker.tasks()).toHaveLength(1);
  });
});

test.each(["later", "never"])(
  "a canceled task also cancels a sub-agent whose task id arrives %s",
  async (when) => {
    const way = new SlowWay();
    let isAborted = false;
    const work = tool({
      name: "work",
      description: "Works for ever.",
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            isAborted = true;
            reject(signal.reason as Error);
          });
        }),
    });
    const worker = await Hop.started("worker", () => ({
      model: callsOnce(calls("work")),
      tools: [work],
    }));
    const boss = await Hop.started("boss", () => ({
      model: callsOnce(calls("worker", { message: "work" })),
      subAgents: { worker: { url: worker.url, fetch: way.fetch } },
    }));
    const remote = await boss.client();
    const { task } = await remote.send("go", { wait: false });
    await expect.poll(() => way.arrived, { timeout: 20_000 }).toBe(1);

    await remote.cancel(task!.id);
    if (when === "later") way.open();

    await until(worker, "canceled");
    expect(isAborted).toBe(true);
  },
);
