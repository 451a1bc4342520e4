import { textOf, textOfParts } from "@convoke/protocol";
import type { AgentDefinition } from "@convoke/runtime";
import { isSettled } from "@convoke/engine";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { verifies } from "../verifies.ts";
import { World } from "./a-world.ts";
import { tell } from "./an-engine.ts";

const never = (): Promise<never> => new Promise(() => undefined);

describe("a sleep", () => {
  test("ends, and the function continues", async () => {
    const world = new World(async ({ sleep }) => {
      await sleep(20);
      return "awake";
    });
    const { live } = await tell(world.engine, "go");

    expect(textOf(await world.settled(live.task.id))).toBe("awake");
  });

  verifies("G3", "ends once, even if the process died in the meantime", async () => {
    let aheadMs = 0;
    const world = new World(
      async ({ sleep, attempt }) => {
        await sleep(3_600_000);
        await sleep(30);
        return `awake in attempt ${attempt}`;
      },
      { now: () => Date.now() + aheadMs },
    );
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:sleep");

    // The next process has only the rest of the sleep to wait.
    aheadMs = 3_600_000 - 300;
    expect(await world.restart()).toMatchObject({ resumed: 0, ended: 0, waiting: 1 });

    expect(textOf(await world.settled(live.task.id))).toBe("awake in attempt 2");
    const woken = (await world.events(live.task.id)).filter(
      ({ kind }) => kind === "internal:woken",
    );
    expect(woken).toHaveLength(2);
  });

  test("ends even if the clock was set back", async () => {
    let offset = 0;
    const world = new World(
      async ({ sleep }) => {
        await sleep(50);
        return "awake";
      },
      { now: () => Date.now() + offset },
    );
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:sleep");

    offset = -3_600_000;

    expect(textOf(await world.settled(live.task.id))).toBe("awake");
  });
});

describe("a wait of more days than a timer can measure", () => {
  const DAY_MS = 24 * 3_600_000;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  });
  afterEach(() => void vi.useRealTimers());

  const asleep: AgentDefinition["run"] = async ({ sleep }) => {
    await sleep(40 * DAY_MS);
    return "awake";
  };
  const waiting: AgentDefinition["run"] = async ({ ask }) => ask("Who?");

  test.each([
    { wait: "a sleep", run: asleep, options: {}, before: "working", after: "completed" },
    {
      wait: "a question",
      run: waiting,
      options: { inputTimeout: { ms: 40 * DAY_MS, onTimeout: "fail" } } as const,
      before: "input-required",
      after: "failed",
    },
    {
      wait: "a task",
      run: never,
      options: { timeoutMs: 40 * DAY_MS },
      before: "working",
      after: "failed",
    },
  ])("ends $wait at its end, and not earlier", async ({ run, options, before, after }) => {
    const world = new World(run, options);
    const { live } = await tell(world.engine, "go");
    const state = async (): Promise<string> => (await world.task(live.task.id)).status.state;
    await expect.poll(state).toBe(before);
    await expect.poll(async () => (await world.backend.tasks.waking(1)).length).toBe(1);

    await vi.advanceTimersByTimeAsync(39 * DAY_MS);
    expect(await state()).toBe(before);

    await vi.advanceTimersByTimeAsync(DAY_MS);
    await expect.poll(state).toBe(after);
    world.engine.close();
  });
});

describe("a clock that is corrected", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  });
  afterEach(() => void vi.useRealTimers());

  test("to a later time wakes within a minute what has become due", async () => {
    let offset = 0;
    const world = new World(
      async ({ sleep }) => {
        await sleep(10 * 3_600_000);
        return "awake";
      },
      { now: () => Date.now() + offset },
    );
    const { live } = await tell(world.engine, "go");
    await expect.poll(async () => (await world.backend.tasks.waking(1)).length).toBe(1);

    offset = 11 * 3_600_000;
    await vi.advanceTimersByTimeAsync(60_000);

    expect(textOf(await world.settled(live.task.id))).toBe("awake");
    world.engine.close();
  });
});

describe("a task timeout", () => {
  verifies(
    "R107",
    "fails the task and aborts the agent, and nothing is appended afterwards",
    async () => {
      let wasTold = false;
      const world = new World(
        async function* ({ signal }) {
          signal.addEventListener("abort", () => {
            wasTold = true;
          });
          yield "half";
          await never();
        },
        { timeoutMs: 30 },
      );
      const { live } = await tell(world.engine, "go");

      const task = await world.settled(live.task.id);

      expect(task.status.state).toBe("failed");
      expect(textOfParts(task.status.message!.parts)).toBe("Task timed out");
      expect(wasTold).toBe(true);
    },
  );

  verifies("R108", "that expires after the end changes nothing", async () => {
    // By a clock that stands still, the agent ends in time on a busy machine, too.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const world = new World(async () => "done", { timeoutMs: 30 });
    const { live } = await tell(world.engine, "go");
    await live.until(isSettled);
    const { head } = live.writer;

    await vi.advanceTimersByTimeAsync(60);

    expect(await world.events(live.task.id)).toHaveLength(head);
    expect((await world.task(live.task.id)).status.state).toBe("completed");
  });

  test("persists across restarts", async () => {
    let aheadMs = 0;
    const world = new World(
      async ({ step, sleep }) => {
        await step("s", () => "s");
        await sleep(7_200_000);
      },
      { timeoutMs: 3_600_000, now: () => Date.now() + aheadMs },
    );
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:sleep");

    aheadMs = 3_600_000 - 100;
    await world.restart();

    expect((await world.settled(live.task.id)).status.state).toBe("failed");
  });
});

describe("an unanswered question", () => {
  verifies(
    ["R61", "R109", "seed-C2"],
    "fails the task with details, if the agent is configured that way",
    async () => {
      const world = new World(async ({ ask }) => ask("Who?"), {
        inputTimeout: { ms: 30, onTimeout: "fail" },
      });
      const { live } = await tell(world.engine, "go");
      await world.hasEvent(live.task.id, "internal:ask");

      await expect.poll(async () => (await world.task(live.task.id)).status.state).toBe("failed");

      expect((await world.events(live.task.id)).at(-1)).toMatchObject({
        status: { message: { parts: [{ text: "Input timeout" }] } },
        metadata: { reason: "input-timeout", taskId: live.task.id, timeoutSeconds: 0.03 },
      });
    },
  );

  verifies(
    "R61",
    "lets the agent continue without an answer, if configured that way, also after a restart",
    async () => {
      const world = new World(async ({ ask }) => `name: "${await ask("Who?")}"`, {
        inputTimeout: { ms: 50, onTimeout: "continue" },
      });
      const { live } = await tell(world.engine, "go");
      await world.hasEvent(live.task.id, "internal:ask");

      await world.restart();

      await expect.poll(async () => textOf(await world.task(live.task.id))).toBe('name: ""');
      expect(JSON.stringify(await world.events(live.task.id))).toContain(
        "Continuing without client input...",
      );
    },
  );

  test("that is answered in the same millisecond has one outcome, a thousand times", async () => {
    const outcomes = { answered: 0, expired: 0 };
    const world = new World(async ({ ask }) => ask("Who?"), {
      inputTimeout: { ms: 5, onTimeout: "fail" },
    });
    for (let round = 0; round < 100; round++) {
      const tasks = await Promise.all(Array.from({ length: 10 }, () => tell(world.engine, "go")));
      await Promise.all(
        tasks.map(async ({ live }) => {
          await live.until(isSettled);
          await new Promise((resolve) => setTimeout(resolve, 3 + Math.random() * 4));
          const answered = await tell(world.engine, "Ann", { taskId: live.task.id }).catch(
            () => undefined,
          );
          const task = await world.settled(live.task.id);
          const isAnswered = task.status.state === "completed";

          expect(isAnswered).toBe(answered !== undefined);
          const terminal = (await world.events(live.task.id)).filter(
            (event) => (event as { final?: boolean }).final === true,
          );
          expect(terminal).toHaveLength(2);
          outcomes[isAnswered ? "answered" : "expired"]++;
        }),
      );
    }
    expect(outcomes.answered + outcomes.expired).toBe(1000);
  }, 60_000);
});

describe("a turn that ended with its question", () => {
  test("cannot continue without an answer, so its task fails at the timeout", async () => {
    let runs = 0;
    const world = new World(
      async function* ({ task }) {
        runs++;
        const status = { state: "input-required" } as const;
        const { id: taskId, contextId } = task;
        yield { kind: "status-update", taskId, contextId, status, final: true };
      },
      { inputTimeout: { ms: 30, onTimeout: "continue" } },
    );
    const { live } = await tell(world.engine, "go");

    await expect.poll(async () => (await world.task(live.task.id)).status.state).toBe("failed");

    const { message } = (await world.task(live.task.id)).status;
    expect(message?.metadata).toMatchObject({ reason: "input-timeout" });
    expect(runs).toBe(1);
  });
});
