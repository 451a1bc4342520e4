import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type Message, type Task, textOf, userMessage } from "@convoke/protocol";
import { type CommitResult, type CommitStep, isSettled, sendMessage } from "@convoke/engine";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { World } from "./a-world.ts";
import { CALLER, tell } from "./an-engine.ts";
import { slowBackend } from "./slow-backend.ts";
import { wrapBackend } from "./wrapped-backend.ts";

const CALL = { caller: CALLER, version: "1.0", trace: undefined } as const;

const never = (): Promise<never> => new Promise(() => undefined);

/** Events that end a sleep are not stored before the gate opens. */
function aBackendThatWakesLate() {
  const memory = createMemoryBackend();
  const gate = Promise.withResolvers<void>();
  const ringing = Promise.withResolvers<void>();
  const commit = async (step: CommitStep): Promise<CommitResult> => {
    if (step.events.some((event) => event.includes("internal:woken"))) {
      ringing.resolve();
      await gate.promise;
    }
    return memory.commit(step);
  };
  return { backend: { ...slowBackend(memory, 0), commit }, ringing: ringing.promise, gate };
}

describe("a run that waits and leaves memory", () => {
  verifies("G3", "is woken even if it is about to leave in the same moment", async () => {
    const { backend, ringing, gate } = aBackendThatWakesLate();
    const world = new World(
      async ({ sleep: nap, text }) => {
        await nap(Number(text));
        return "awake";
      },
      { maxParkedRuns: 1, backend },
    );
    const woken = await tell(world.engine, "20");
    await ringing;

    // There is room for one, and the one that is being woken has waited longest.
    const waiting = await tell(world.engine, "60");
    await world.hasEvent(waiting.live.task.id, "internal:sleep");
    await sleep(20);
    gate.resolve();

    for (const { live } of [woken, waiting]) {
      expect(textOf(await world.settled(live.task.id))).toBe("awake");
    }
  });

  test("does not end callers that wait for its end, whether they started before or after it left", async () => {
    const world = new World(
      async ({ sleep: nap }) => {
        await nap(150);
        return "awake";
      },
      { maxParkedRuns: 0 },
    );
    const send = (messageId: string): Promise<Task | Message> =>
      sendMessage(
        { message: userMessage(messageId, "go"), blocking: true },
        { engine: world.engine, agent: world.engine.agents.first, ...CALL, lastEventId: undefined },
      );

    const before = send("m1");
    const { live } = await tell(world.engine, "go", { messageId: "m2" });
    await expect.poll(() => world.engine.tasks.get(live.task.id), { interval: 5 }).toBe(undefined);
    const after = send("m2");

    expect((await Promise.all([before, after])).map(textOf)).toEqual(["awake", "awake"]);
  });
});

describe("a timer that expires", () => {
  test("before its wakeAt is stored is not missed", async () => {
    const world = new World(
      async ({ sleep: nap }) => {
        await nap(1);
        await nap(1);
        return "awake";
      },
      { backend: slowBackend(createMemoryBackend(), 15) },
    );
    const { live } = await tell(world.engine, "go");

    expect(textOf(await world.settled(live.task.id))).toBe("awake");
  });

  test("while other tasks are being woken is not missed", async () => {
    const { backend, ringing, gate } = aBackendThatWakesLate();
    const world = new World(
      async ({ sleep: nap }) => {
        await nap(20);
        return "awake";
      },
      { backend },
    );
    const early = await tell(world.engine, "go");
    await ringing;

    const late = await tell(world.engine, "go");
    await world.hasEvent(late.live.task.id, "internal:sleep");
    await sleep(60);
    gate.resolve();

    for (const { live } of [early, late]) {
      expect(textOf(await world.settled(live.task.id))).toBe("awake");
    }
  });

  verifies(
    "G3",
    "for an attempt that a crash interrupted does not affect the next attempt",
    async () => {
      let aheadMs = 0;
      const world = new World(
        async function* ({ task, attempt }) {
          const { id: taskId, contextId } = task;
          if (attempt === 1) {
            const status = { state: "input-required" } as const;
            yield { kind: "status-update", taskId, contextId, status, final: true };
            await never();
          }
          // Its question would have expired by then.
          await sleep(1200);
          yield `attempt ${attempt}`;
        },
        {
          restart: true,
          inputTimeout: { ms: 3_600_000, onTimeout: "fail" },
          now: () => Date.now() + aheadMs,
        },
      );
      const { live } = await tell(world.engine, "go");
      await live.until(isSettled);

      // Of the hour, one second is left to the next process.
      aheadMs = 3_600_000 - 1000;
      await world.restart();

      const state = async (): Promise<string> => (await world.task(live.task.id)).status.state;
      await expect.poll(state, { timeout: 20_000 }).toBe("completed");
      expect(textOf(await world.task(live.task.id))).toBe("attempt 2");
    },
  );

  verifies("R61", "after its question was answered changes nothing", async () => {
    const backend = wrapBackend(createMemoryBackend());
    const world = new World(async ({ ask }) => `${await ask("Who?")}, ${await ask("Where?")}`, {
      // Long enough for the answer below to come first on a busy machine, too.
      inputTimeout: { ms: 1500, onTimeout: "continue" },
      backend,
    });
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;
    await world.hasEvent(taskId, "internal:ask");

    // The answer is being written when the timer expires.
    backend.hold();
    const answered = tell(world.engine, "Ann", { taskId });
    await sleep(1600);
    backend.release();
    await answered;
    await world.restart();

    const said = async (): Promise<string> => textOf(await world.task(taskId));
    await expect.poll(said, { timeout: 20_000 }).toBe("Ann, ");
  });
});
