import type { CommitStep } from "@convoke/engine";
import { textOf } from "@convoke/protocol";
import type { AgentDefinition } from "convoke";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { SharedMemory } from "./shared-memory.ts";
import { TestReplica } from "./test-replica.ts";

/** A bound on hanging. */
const EVENTUALLY = { timeout: 20_000, interval: 5 };

/** More often than a task may crash its process. */
const TAKEOVERS = 7;

const NO_PAUSES = { crashBackoff: { firstMs: 1, longestMs: 1 } };

/** An agent with one long step. */
function aSlowAgent() {
  let runs = 0;
  const { promise, resolve } = Promise.withResolvers<string>();
  const agent: Partial<AgentDefinition> = {
    run: ({ step }) =>
      step(
        "work",
        () => {
          runs++;
          return promise;
        },
        { idempotent: true },
      ),
  };
  return { agent, finish: resolve, runs: () => runs };
}

describe("a task without progress", () => {
  verifies("G3", "goes on however often living processes lose their leases", async () => {
    const { agent, runs, finish } = aSlowAgent();
    const shared = new SharedMemory();
    const start = (): Promise<TestReplica> => TestReplica.start(shared, agent, NO_PAUSES);
    const first = await start();
    const { id: taskId } = await first.send("go", {}, false);
    await expect.poll(runs, EVENTUALLY).toBe(1);

    let worker = first;
    for (let takeover = 1; takeover <= TAKEOVERS; takeover++) {
      worker.backend.isClaiming = false;
      worker.backend.isAlive = false;
      const next = await start();
      await expect.poll(runs, EVENTUALLY).toBe(takeover + 1);
      worker.backend.isAlive = true;
      worker = next;
    }
    finish("done");

    await expect.poll(() => worker.state(taskId), EVENTUALLY).toBe("completed");
    expect(textOf(await first.get(taskId))).toBe("done");
  });

  verifies(
    "G3",
    "goes on elsewhere if the process that wakes it stops at the same time",
    async () => {
      const shared = new SharedMemory();
      const agent: Partial<AgentDefinition> = {
        run: ({ sleep }) => sleep(5000).then(() => "rested"),
      };
      const stopping = await TestReplica.start(shared, agent);
      const { sharing } = stopping.backend;
      const claim = sharing.claim.bind(sharing);
      sharing.claim = async (query) => {
        const claimed = await claim(query);
        if (claimed.length > 0) void stopping.engine.drain(0);
        stopping.backend.isClaiming = claimed.length === 0;
        return claimed;
      };
      // By the clocks of the others, its task is due at once.
      const first = await TestReplica.start(shared, agent, { now: () => Date.now() - 60_000 });
      first.backend.isClaiming = false;
      const { id: taskId } = await first.send("go", {}, false);
      await expect.poll(() => stopping.engine.isDraining, EVENTUALLY).toBe(true);

      const other = await TestReplica.start(shared, agent);

      await expect.poll(() => other.state(taskId), EVENTUALLY).toBe("completed");
    },
  );

  verifies("G3", "fails after six processes have crashed while they worked on it", async () => {
    const { agent, runs } = aSlowAgent();
    const shared = new SharedMemory();
    let worker = await TestReplica.start(shared, agent, NO_PAUSES);
    const { id: taskId } = await worker.send("go", {}, false);

    for (let crashes = 1; crashes <= 6; crashes++) {
      await expect.poll(runs, EVENTUALLY).toBe(crashes);
      worker.crash();
      worker = await TestReplica.start(shared, agent, NO_PAUSES);
    }

    await expect.poll(() => worker.state(taskId), EVENTUALLY).toBe("failed");
    const { status } = await worker.get(taskId);
    expect(status.message?.metadata).toEqual({ reason: "crashed", crashes: 6 });
    expect(runs()).toBe(6);
  });
});

describe("a task whose process has lost its lease", () => {
  verifies(
    "G2",
    "is shown with a step of that process that is stored after the task was claimed",
    async () => {
      const shared = new SharedMemory();
      const more = Promise.withResolvers<void>();
      const agent: Partial<AgentDefinition> = {
        run: async function* () {
          yield "one ";
          await more.promise;
          yield "two";
          await new Promise(() => undefined);
        },
      };
      const first = await TestReplica.start(shared, agent);
      const { id: taskId } = await first.send("go", {}, false);
      await expect.poll(async () => textOf(await first.get(taskId)), EVENTUALLY).toBe("one ");
      const begun = Promise.withResolvers<CommitStep>();
      first.backend.commit = (step) => {
        begun.resolve(step);
        return new Promise(() => undefined);
      };
      more.resolve();
      const step = await begun.promise;
      const second = await TestReplica.start(shared, agent);
      second.backend.isClaiming = false;
      first.backend.isAlive = false;
      const at = performance.now();
      const claimed = (await second.backend.sharing.claimTask(taskId))!;
      const live = await second.engine.tasks.openClaimed(claimed, at);
      expect(textOf(await second.get(taskId))).toBe("one ");

      // The transaction began before the claim, so the database stores it.
      const after = { head: claimed.head, epoch: claimed.epoch };
      await shared.inner.commit({ ...step, epoch: claimed.epoch, after });

      expect(textOf(await second.get(taskId))).toBe("one two");
      second.engine.tasks.release(live);
    },
  );
});
