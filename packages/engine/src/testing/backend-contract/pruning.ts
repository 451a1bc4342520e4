import { TASK_STATES, isTerminal } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import type { Backend, PruneQuery } from "../../log/backend.ts";
import {
  type OpenBackend,
  aCreation,
  aPush,
  aStep,
  anEvent,
  someEvents,
  using,
} from "./fixtures.ts";

/** Ended tasks are pruned by age and by number; the ids of their messages are freed later. */
export function describePruning(open: OpenBackend): void {
  describe("pruning", () => {
    test(
      "tasks that ended before the given time are pruned, oldest first, up to the limit",
      using(open, async (backend) => {
        await end(backend, { t1: 30, t2: 10, t3: 20, t4: 40 });

        expect(await prune(backend, { endedBefore: 40, limit: 2 })).toBe(2);
        expect(await left(backend)).toEqual(["t4", "t1"]);
        expect(await prune(backend, { endedBefore: 40, limit: 2 })).toBe(1);
        expect(await prune(backend, { endedBefore: 40 })).toBe(0);
        expect(await left(backend)).toEqual(["t4"]);
      }),
    );

    test(
      "all but the given number of most recently ended tasks are pruned",
      using(open, async (backend) => {
        await end(backend, { t1: 30, t2: 10, t3: 20, t4: 40, t5: 50 });

        expect(await prune(backend, { keep: 3, limit: 1 })).toBe(1);
        expect(await left(backend)).toEqual(["t5", "t4", "t1", "t3"]);
        expect(await prune(backend, { keep: 3 })).toBe(1);
        expect(await prune(backend, { keep: 3 })).toBe(0);
        expect(await left(backend)).toEqual(["t5", "t4", "t1"]);
        expect(await prune(backend, { keep: 0 })).toBe(3);
        expect(await left(backend)).toEqual([]);
      }),
    );

    test(
      "a task that matches either criterion is pruned",
      using(open, async (backend) => {
        await end(backend, { t1: 10, t2: 20, t3: 30, t4: 40 });

        expect(await prune(backend, { endedBefore: 20, keep: 2 })).toBe(2);

        expect(await left(backend)).toEqual(["t4", "t3"]);
      }),
    );

    test(
      "among tasks that ended at the same time the first created is pruned first",
      using(open, async (backend) => {
        await end(backend, { t2: 10, t1: 10, t4: 10, t3: 10 });
        await backend.retention.compact("t4", { seq: 2, json: "{}" });

        expect(await prune(backend, { endedBefore: 11, limit: 1 })).toBe(1);
        expect(await left(backend)).toEqual(["t4", "t3", "t1"]);
        expect(await prune(backend, { keep: 1 })).toBe(2);
        expect(await left(backend)).toEqual(["t3"]);
      }),
    );

    test(
      "an unfinished task is neither pruned nor counted",
      using(open, async (backend) => {
        for (const [index, state] of TASK_STATES.entries())
          await backend.commit(aCreation(`t${index}`, { state, statusAt: 1 }));
        const unfinished = TASK_STATES.flatMap((state, index) =>
          isTerminal(state) ? [] : [`t${index}`],
        );
        const endedCount = TASK_STATES.length - unfinished.length;

        expect(await prune(backend, { keep: endedCount })).toBe(0);
        expect(await prune(backend, { endedBefore: 1_000, keep: 0 })).toBe(endedCount);

        expect((await left(backend)).toReversed()).toEqual(unfinished);
      }),
    );

    test(
      "tasks of all owners, listed and unlisted, are counted and pruned",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { state: "completed", listed: false, statusAt: 1 }));
        await backend.commit(aCreation("t2", { state: "rejected", statusAt: 2 }, { owner: "bob" }));
        await backend.commit(aCreation("t3", { state: "failed", statusAt: 3 }));

        expect(await prune(backend, { keep: 1 })).toBe(2);

        expect(await backend.tasks.get("t1")).toBeUndefined();
        expect(await backend.tasks.get("t2")).toBeUndefined();
        expect(await backend.tasks.get("t3")).toBeDefined();
      }),
    );

    test(
      "nothing remains of a pruned task, and other tasks are unaffected",
      using(open, async (backend) => {
        for (const taskId of ["t1", "t2"]) {
          await backend.commit(
            aCreation(taskId, { snapshot: { seq: 1, json: "{}" }, push: aPush("p1") }),
          );
          await backend.commit(aStep(taskId, { events: someEvents(taskId, 5) }));
          await finishPush(backend, taskId, "dead");
        }
        await backend.commit(aStep("t1", { state: "completed" }));
        const neighbour = {
          record: await backend.tasks.get("t2"),
          pushes: await backend.pushes.ofTask("t2"),
        };

        expect(await prune(backend, { keep: 0 })).toBe(1);

        expect(await backend.tasks.get("t1")).toBeUndefined();
        expect(await backend.read("t1", 0, 9)).toEqual([]);
        expect(await backend.pushes.ofTask("t1")).toEqual([]);
        expect(await backend.pushes.get("t1", "p1")).toBeUndefined();
        expect(await backend.pushes.list({ state: "dead", limit: 9 })).toEqual(neighbour.pushes);
        expect(await backend.pushes.put("t1", aPush("p2"))).toBeUndefined();
        expect(await backend.commit(aStep("t1", { events: [anEvent("no")] }))).toEqual({
          kind: "unknown",
        });
        expect(await left(backend)).toEqual(["t2"]);
        expect(await backend.tasks.get("t2")).toEqual(neighbour.record);
        expect(await backend.read("t2", 0, 9)).toHaveLength(6);
      }),
    );

    test(
      "a task created with the id of a pruned one inherits nothing from it",
      using(open, async (backend) => {
        await backend.commit(
          aCreation("t1", {
            state: "completed",
            events: someEvents("old", 5),
            snapshot: { seq: 5, json: "{}" },
          }),
        );
        await prune(backend, { keep: 0 });

        expect(await backend.commit(aCreation("t1"))).toEqual({ kind: "committed", head: 1 });

        expect(await backend.read("t1", 0, 9)).toMatchObject([
          { seq: 1, json: anEvent("t1 begins") },
        ]);
        expect((await backend.tasks.get("t1"))?.snapshot).toBeUndefined();
      }),
    );

    test(
      "a task with an active push is skipped, and one whose push is done or dead is pruned",
      using(open, async (backend) => {
        await end(backend, { t1: 10, t2: 20, t3: 30, t4: 40 });
        for (const taskId of ["t1", "t2", "t3"]) await backend.pushes.put(taskId, aPush("p1"));
        await finishPush(backend, "t2", "done");
        await finishPush(backend, "t3", "dead");

        expect(await prune(backend, { endedBefore: 40, limit: 1 })).toBe(1);
        expect(await left(backend)).toEqual(["t4", "t3", "t1"]);
        expect(await prune(backend, { keep: 1 })).toBe(1);
        expect(await left(backend)).toEqual(["t4", "t1"]);

        await finishPush(backend, "t1", "done");
        expect(await prune(backend, { keep: 1 })).toBe(1);
        expect(await left(backend)).toEqual(["t4"]);
      }),
    );

    test(
      "tasks of one owner are pruned, or those of all owners except some",
      using(open, async (backend) => {
        for (const [index, owner] of ["ann", "bob", "eve", "ann"].entries()) {
          const ended = { state: "completed", statusAt: 10 + index } as const;
          await backend.commit(aCreation(`t${index}`, ended, { owner }));
        }
        const ids = async () =>
          (await backend.tasks.newest({ limit: 9 })).map(({ taskId }) => taskId);

        expect(await prune(backend, { endedBefore: 12, owner: "ann" })).toBe(1);
        expect(await ids()).toEqual(["t3", "t2", "t1"]);
        expect(await prune(backend, { keep: 0, exceptOwners: ["ann", "bob"] })).toBe(1);
        expect(await ids()).toEqual(["t3", "t1"]);
        expect(await prune(backend, { endedBefore: 99, exceptOwners: ["ann"], limit: 1 })).toBe(1);
        expect(await ids()).toEqual(["t3"]);
      }),
    );

    test(
      "tasks of one agent are pruned, or those of all agents except some, and owners are spared in either case",
      using(open, async (backend) => {
        for (const [index, agentId] of ["poet", "clerk", undefined, "poet", "poet"].entries()) {
          const ended = { state: "completed", statusAt: 10 + index } as const;
          const facts = { owner: index === 4 ? "eve" : "ann", ...(agentId && { agentId }) };
          await backend.commit(aCreation(`t${index}`, ended, facts));
        }
        const ids = async () =>
          (await backend.tasks.newest({ limit: 9 })).map(({ taskId }) => taskId);

        expect(await prune(backend, { endedBefore: 13, agentId: "poet" })).toBe(1);
        expect(await ids()).toEqual(["t4", "t3", "t2", "t1"]);
        expect(await prune(backend, { keep: 0, exceptAgents: ["poet", "clerk"] })).toBe(1);
        expect(await ids()).toEqual(["t4", "t3", "t1"]);
        const poets = { endedBefore: 99, agentId: "poet" };
        expect(await prune(backend, { ...poets, exceptOwners: ["eve"] })).toBe(1);
        expect(await ids()).toEqual(["t4", "t1"]);
        expect(await prune(backend, { endedBefore: 99, exceptAgents: ["clerk"] })).toBe(1);
        expect(await ids()).toEqual(["t1"]);
      }),
    );

    test(
      "tasks that ended before a time are left alone, and count among those that are kept",
      using(open, async (backend) => {
        await end(backend, { t1: 10, t2: 20, t3: 30, t4: 40 });

        expect(await prune(backend, { endedBefore: 30, endedFrom: 20 })).toBe(1);
        expect(await left(backend)).toEqual(["t4", "t3", "t1"]);
        expect(await prune(backend, { keep: 2, endedFrom: 20 })).toBe(0);
        expect(await prune(backend, { keep: 1, endedFrom: 20 })).toBe(1);
        expect(await left(backend)).toEqual(["t4", "t1"]);
      }),
    );

    test(
      "a task that ended earlier in the same tick is pruned, and later steps of that tick are refused as unknown",
      using(open, async (backend) => {
        const answers = await Promise.all([
          backend.commit(aCreation("t1")),
          backend.commit(aStep("t1", { events: someEvents("more", 3), state: "completed" })),
          prune(backend, { keep: 0 }),
          backend.commit(aStep("t1", { events: [anEvent("no")] })),
        ]);

        expect(answers).toEqual([
          { kind: "committed", head: 1 },
          { kind: "committed", head: 4 },
          1,
          { kind: "unknown" },
        ]);
        expect(await backend.read("t1", 0, 9)).toEqual([]);
      }),
    );
  });

  describe("messageIds of pruned tasks", () => {
    const message = { messageId: "m1", digest: "d1" };
    const duplicate = { kind: "duplicate", taskId: "t1", digest: "d1" };

    test(
      "stay used until they are freed",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { message, statusAt: 10 }));
        const followUp = { messageId: "m2", digest: "d1" };
        await backend.commit(aStep("t1", { message: followUp, statusAt: 20, state: "completed" }));
        await prune(backend, { keep: 0 });

        expect(await backend.commit(aCreation("t2", { message }))).toEqual(duplicate);
        expect(await backend.commit(aCreation("t2", { message: followUp }))).toEqual(duplicate);
        expect(await backend.retention.forgetMessages(10, 9)).toBe(0);
        expect(await backend.commit(aCreation("t2", { message }))).toEqual(duplicate);
        expect(await backend.retention.forgetMessages(20, 9)).toBe(1);
        expect(await backend.commit(aCreation("t2", { message: followUp }))).toEqual(duplicate);
        expect(await backend.commit(aCreation("t2", { message }))).toMatchObject({
          kind: "committed",
        });
      }),
    );

    test(
      "are not freed while their task exists",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { message, statusAt: 10, state: "completed" }));
        await backend.commit(
          aCreation("t2", { message: { messageId: "m2", digest: "d2" }, statusAt: 10 }),
        );

        expect(await backend.retention.forgetMessages(1_000, 9)).toBe(0);

        expect(await backend.commit(aCreation("t3", { message }))).toEqual(duplicate);
      }),
    );

    test(
      "are freed oldest first, up to the limit, separately for each owner",
      using(open, async (backend) => {
        const owners = ["ann", "bob", "eve"];
        for (const [index, owner] of owners.entries())
          await backend.commit(
            aCreation(
              `t${index}`,
              { message, statusAt: 30 - index, state: "completed" },
              { owner },
            ),
          );
        await prune(backend, { keep: 0 });
        const isTaken = async (owner: string) =>
          (await backend.commit(aStep("none", { message, ...creationOf(owner) }))).kind ===
          "duplicate";

        expect(await backend.retention.forgetMessages(31, 2)).toBe(2);
        expect(await isTaken("ann")).toBe(true);
        expect(await backend.retention.forgetMessages(31, 2)).toBe(1);
        expect(await backend.retention.forgetMessages(31, 2)).toBe(0);
        expect(await isTaken("ann")).toBe(false);
      }),
    );
  });
}

function creationOf(owner: string) {
  return { create: { owner, contextId: "c", agent: "greeter", createdAt: 1 } };
}

/** Creates tasks in this order that ended at these times, with two events each. */
async function end(backend: Backend, endings: Readonly<Record<string, number>>): Promise<void> {
  for (const taskId of Object.keys(endings)) await backend.commit(aCreation(taskId));
  for (const [taskId, statusAt] of Object.entries(endings))
    await backend.commit(
      aStep(taskId, { state: "completed", statusAt, events: [anEvent("ends")] }),
    );
}

/** Resolves to the number of removed tasks. */
async function prune(backend: Backend, query: Partial<PruneQuery>): Promise<number> {
  const removed = await backend.retention.prune({
    endedBefore: Number.NEGATIVE_INFINITY,
    keep: Number.POSITIVE_INFINITY,
    limit: 100,
    ...query,
  });
  return removed.length;
}

async function finishPush(backend: Backend, taskId: string, state: "done" | "dead"): Promise<void> {
  const { id, generation, cursor } = (await backend.pushes.ofTask(taskId))[0]!;
  await backend.pushes.progress({ taskId, id, generation, cursor, state, failure: null });
}

/** The ids of ann's listed tasks, newest status first. */
async function left(backend: Backend): Promise<readonly string[]> {
  const { records, total } = await backend.tasks.list({ owner: "ann", limit: 100 });
  expect(total).toBe(records.length);
  return records.map(({ taskId }) => taskId);
}
