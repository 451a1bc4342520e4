import { describe, expect, test } from "vitest";
import type { CommitStep } from "../../log/backend.ts";
import { aStep, anEvent } from "../backend-contract/fixtures.ts";
import { type OpenStorage, aRun, claimAll, idsOf, sharing } from "./shared-storage.ts";

/** The first step of a task that has to run on a host. */
function aLocalRun(taskId: string, host: string, overrides: Partial<CommitStep> = {}): CommitStep {
  const step = aRun(taskId, overrides);
  return { ...step, create: { ...step.create!, host } };
}

/** A task that has to run on a host is continued there, and nowhere else. */
export function describeHosts(open: OpenStorage): void {
  describe("hosts", () => {
    test(
      "a task is claimed only by processes on its host, whether it was left, released or is due",
      sharing(open, async ({ a, b }, storage) => {
        const other = await storage.open("other");
        expect([a.sharing.host, other.sharing.host]).toEqual(["test", "other"]);
        await a.commit(aLocalRun("left", "test"));
        await a.commit(aLocalRun("released", "test"));
        await a.commit(aLocalRun("due", "test", { running: false, wakeAt: 50 }));
        await a.commit(aRun("anywhere"));
        await a.sharing.release(["released"]);
        await storage.expire(a);

        expect(idsOf(await claimAll(other, { dueAt: 99 }))).toEqual(["anywhere"]);
        expect(await other.sharing.claimTask("left")).toBeUndefined();
        expect(await b.tasks.record("left")).toMatchObject({ host: "test", epoch: 1 });
        expect(await b.tasks.record("anywhere")).not.toHaveProperty("host");
        expect(idsOf(await claimAll(b, { dueAt: 99 }))).toEqual(["due", "left", "released"]);
      }),
    );

    test(
      "a process on another host claims a task only in order to end it",
      sharing(open, async ({ a }, storage) => {
        const other = await storage.open("other");
        await a.commit(aLocalRun("t1", "test"));
        expect(await other.sharing.claimTask("t1", { anyHost: true })).toBeUndefined();

        await storage.expire(a);

        const claimed = await other.sharing.claimTask("t1", { anyHost: true });
        expect(claimed).toMatchObject({ reason: "gone", epoch: 2 });
      }),
    );

    test(
      "an answer that a process on another host stores is for a process on the host of the task",
      sharing(open, async ({ a, b }, storage) => {
        const other = await storage.open("other");
        await a.commit(aLocalRun("t1", "test", { state: "input-required", running: false }));
        const answer = { after: { head: 1, epoch: 1 }, epoch: 2, events: [anEvent("yes")] };

        await other.commit(aStep("t1", { ...answer, running: "elsewhere" }));

        expect(await claimAll(other)).toEqual([]);
        expect(await claimAll(b)).toMatchObject([{ taskId: "t1", reason: "released", head: 2 }]);
      }),
    );

    test(
      "tasks that wait for a host without a process are counted",
      sharing(open, async ({ a }, storage) => {
        const other = await storage.open("other");
        await other.commit(aLocalRun("runs", "other"));
        await other.commit(aLocalRun("due", "other", { running: false, wakeAt: 50 }));
        await other.commit(aLocalRun("asks", "other", { state: "input-required", running: false }));
        await other.commit(aLocalRun("ended", "other", { state: "completed" }));
        await a.commit(aLocalRun("here", "test"));
        expect(await a.sharing.waitingForHosts(99)).toEqual([]);

        await storage.expire(other);

        expect(await a.sharing.waitingForHosts(99)).toEqual([{ host: "other", tasks: 2 }]);
        expect(await a.sharing.waitingForHosts(9)).toEqual([{ host: "other", tasks: 1 }]);
      }),
    );
  });
}
