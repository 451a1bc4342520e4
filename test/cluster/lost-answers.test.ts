import { once } from "node:events";
import { textOf } from "@convoke/protocol";
import type { AgentDefinition } from "convoke";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { SharedMemory } from "./shared-memory.ts";
import { TestReplica, twoReplicas } from "./test-replica.ts";

/** A bound on hanging. */
const EVENTUALLY = { timeout: 20_000 };

/** Asks, and repeats the answer. */
const asker: Partial<AgentDefinition> = {
  run: async ({ ask }) => `You said ${await ask("Which?")}`,
};

/** How often a message is sent until the storage answers: the first attempt is repeated once. */
const BOTH_ATTEMPTS = 2;

describe("a process that does not learn what was stored", () => {
  verifies("G6", "works on a task whose creation was stored without an answer", async () => {
    const { a, b } = await twoReplicas({ run: async () => "done" });
    a.backend.lostAnswers = BOTH_ATTEMPTS;

    await expect(a.send("go", { messageId: "m1" })).rejects.toThrow(/connection was lost/);
    const { id: taskId } = await b.send("go", { messageId: "m1" }, false);

    await expect.poll(() => b.state(taskId), EVENTUALLY).toBe("completed");
    expect(textOf(await a.get(taskId))).toBe("done");
  });

  verifies(
    ["G3", "G11"],
    "continues a task whose answer was stored without an answer, and does not end it",
    async () => {
      const { a, b } = await twoReplicas(asker);
      const { id: taskId } = await a.send("go");
      const answer = { taskId, messageId: "m2" };
      a.backend.lostAnswers = BOTH_ATTEMPTS;

      await expect(a.send("yes", answer)).rejects.toThrow(/connection was lost/);
      const task = await a.send("yes", answer);

      expect(task.status.state).toBe("completed");
      expect(textOf(await b.get(taskId))).toBe("You said yes");
    },
  );

  verifies("G3", "works on a task that it has claimed without an answer", async () => {
    const shared = new SharedMemory();
    let runs = 0;
    const agent: Partial<AgentDefinition> = {
      restart: true,
      takesMessages: true,
      run: () => (++runs === 1 ? new Promise<string>(() => undefined) : Promise.resolve("done")),
    };
    const gone = await TestReplica.start(shared, agent);
    const { id: taskId } = await gone.send("go", {}, false);
    await expect.poll(() => runs, EVENTUALLY).toBe(1);
    const a = await TestReplica.start(shared, agent);
    a.backend.isClaiming = false;
    a.backend.afterClaim = () => Promise.reject(new Error("the connection was lost"));
    gone.crash();

    await expect(a.send("hurry", { taskId })).rejects.toThrow(/connection was lost/);
    a.backend.isClaiming = true;

    await expect.poll(() => a.state(taskId), EVENTUALLY).toBe("completed");
  });

  verifies(
    ["G4", "G6"],
    "works on a task that two of its requests have claimed, in whichever order they learn of it",
    async () => {
      const shared = new SharedMemory();
      const collector: Partial<AgentDefinition> = {
        takesMessages: true,
        restart: true,
        run: async ({ inbox }) => {
          const heard = [await inbox.next(), await inbox.next()];
          return heard
            .map(({ value }) => textOf(value!))
            .toSorted()
            .join(", ");
        },
      };
      const gone = await TestReplica.start(shared, collector);
      const { id: taskId } = await gone.send("go", {}, false);
      const a = await TestReplica.start(shared, collector);
      a.backend.isClaiming = false;
      const isClaimed = Promise.withResolvers<void>();
      const second = Promise.withResolvers<void>();
      a.backend.afterClaim = async () => {
        a.backend.afterClaim = async () => {};
        isClaimed.resolve();
        await second.promise;
      };
      gone.crash();

      const one = a.send("one", { taskId }, false);
      await isClaimed.promise;
      await a.send("two", { taskId }, false);
      second.resolve();
      await one;

      await expect.poll(() => a.state(taskId), EVENTUALLY).toBe("completed");
      expect(textOf(await a.get(taskId))).toBe("one, two");
    },
  );

  verifies(
    "G2",
    "shows a waiting caller the end of a task that it could not read at first",
    async () => {
      const go = Promise.withResolvers<string>();
      const { a, b } = await twoReplicas({ run: () => go.promise });
      const { id: taskId } = await a.send("go", { messageId: "m1" }, false);
      b.backend.isClaiming = false;
      const isWaiting = Promise.withResolvers<void>();
      const watch = b.backend.watch.bind(b.backend);
      b.backend.watch = (...watched) => {
        isWaiting.resolve();
        return watch(...watched);
      };
      const shown = b.send("go", { messageId: "m1" });
      await isWaiting.promise;
      b.backend.failedReads = 3;

      go.resolve("done");

      expect(textOf(await shown)).toBe("done");
      expect(await a.state(taskId)).toBe("completed");
    },
  );

  verifies("G10", "does other work while the end of a canceled task is being stored", async () => {
    const { a, b } = await twoReplicas({
      run: ({ signal }) => once(signal, "abort").then(() => ""),
    });
    const { id: taskId } = await a.send("go", {}, false);
    const stored = Promise.withResolvers<void>();
    const commit = a.backend.commit.bind(a.backend);
    a.backend.commit = async (step) => {
      const result = await commit(step);
      if (step.state === "canceled") await stored.promise;
      return result;
    };

    const canceled = a.cancel(taskId);
    await expect.poll(() => b.state(taskId), EVENTUALLY).toBe("canceled");
    // Longer than an agent has to stop.
    await new Promise((resolve) => setTimeout(resolve, 600));
    stored.resolve();

    expect((await canceled).status.state).toBe("canceled");
  });
});
