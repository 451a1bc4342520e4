import { describe, expect, test } from "vitest";
import { type OpenBackend, aCreation, aPush, aStep, anEvent, using } from "./fixtures.ts";

/** Ended tasks are removed by their ids, however old they are, and owners are forgotten. */
export function describeRemoval(open: OpenBackend): void {
  describe("removal", () => {
    test(
      "named tasks are removed with their logs and pushes; unfinished and unknown ones are left out",
      using(open, async (backend) => {
        for (const taskId of ["t1", "t2", "t3"]) {
          await backend.commit(aCreation(taskId, { state: "completed" }));
          await backend.pushes.put(taskId, aPush("p1"));
        }
        await backend.commit(aCreation("t4"));

        const taskIds = ["t1", "t3", "t4", "nothing"];
        const removed = await backend.retention.remove({ taskIds });

        expect(removed.toSorted()).toEqual(["t1", "t3"]);
        expect(await backend.tasks.get("t1")).toBeUndefined();
        expect(await backend.read("t1", 0, 9)).toEqual([]);
        expect(await backend.pushes.ofTask("t1")).toEqual([]);
        expect(await backend.pushes.list({ state: "active", limit: 9 })).toHaveLength(1);
        const { records, total } = await backend.tasks.list({ owner: "ann", limit: 9 });
        expect(records.map(({ taskId }) => taskId).toSorted()).toEqual(["t2", "t4"]);
        expect(total).toBe(2);
        const late = await backend.commit(aStep("t1", { events: [anEvent("no")] }));
        expect(late).toEqual({ kind: "unknown" });
      }),
    );

    test(
      "the messageIds of removed tasks stay used, unless they are freed with them",
      using(open, async (backend) => {
        const message = (taskId: string) => ({ messageId: `m-${taskId}`, digest: "d1" });
        for (const taskId of ["t1", "t2"]) {
          const facts = { message: message(taskId), state: "completed" } as const;
          await backend.commit(aCreation(taskId, facts));
        }

        await backend.retention.remove({ taskIds: ["t1"] });
        await backend.retention.remove({ taskIds: ["t2"], freesMessages: true });

        const again = (taskId: string) =>
          backend.commit(aCreation(`${taskId}-again`, { message: message(taskId) }));
        expect(await again("t1")).toEqual({ kind: "duplicate", taskId: "t1", digest: "d1" });
        expect(await again("t2")).toEqual({ kind: "committed", head: 1 });
      }),
    );

    test(
      "a context whose last task was removed has expired",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { state: "completed" }, { contextId: "c1" }));
        await backend.retention.remove({ taskIds: ["t1"], freesMessages: true });

        const next = aCreation("t2", {}, { contextId: "c1", unlessForgotten: true });
        expect(await backend.commit(next)).toEqual({ kind: "forgotten" });
      }),
    );
  });

  describe("erasure", () => {
    test(
      "an owner without tasks is forgotten: its contexts do not expire any more, and others keep theirs",
      using(open, async (backend) => {
        for (const owner of ["ann", "bob"]) {
          const task = { owner, contextId: `c-${owner}` };
          await backend.commit(aCreation(`t-${owner}`, { state: "completed" }, task));
        }
        const { retention } = backend;
        await retention.remove({ taskIds: ["t-ann", "t-bob"], freesMessages: true });

        await retention.forgetOwner("ann");

        const again = (owner: string) => {
          const task = { owner, contextId: `c-${owner}`, unlessForgotten: true } as const;
          return backend.commit(aCreation(`t-${owner}-again`, {}, task));
        };
        expect(await again("ann")).toEqual({ kind: "committed", head: 1 });
        expect(await again("bob")).toEqual({ kind: "forgotten" });
      }),
    );

    test(
      "the counts of an owner stay right if it is forgotten while it has tasks",
      using(open, async (backend) => {
        for (const taskId of ["t1", "t2"]) {
          await backend.commit(aCreation(taskId, { state: "completed" }));
        }
        await backend.commit(aCreation("t3"));
        await backend.retention.remove({ taskIds: ["t1"] });

        await backend.retention.forgetOwner("ann");

        expect((await backend.tasks.list({ owner: "ann", limit: 9 })).total).toBe(2);
      }),
    );

    test(
      "an erasure is stored until it is removed",
      using(open, async ({ retention }) => {
        expect(await retention.putErasure("e2", '{"owner":"bob"}')).toBe(false);
        expect(await retention.putErasure("e1", '{"owner":"ann"}')).toBe(false);
        expect(await retention.putErasure("e1", "{}")).toBe(true);

        expect(await retention.erasures()).toEqual([
          { id: "e1", json: "{}" },
          { id: "e2", json: '{"owner":"bob"}' },
        ]);
        expect(await retention.putErasure("e1", null)).toBe(true);
        expect(await retention.putErasure("e1", null)).toBe(false);
        expect(await retention.erasures()).toHaveLength(1);
      }),
    );

    test(
      "what is not deleted is unchanged after a purge",
      using(open, async (backend) => {
        for (const taskId of ["t1", "t2"]) {
          await backend.commit(aCreation(taskId, { state: "completed" }));
        }
        const { retention } = backend;
        const [, purged] = await Promise.all([
          retention.remove({ taskIds: ["t1"] }),
          retention.purge(),
          backend.commit(aCreation("t3")),
        ]);

        expect(purged).toBeUndefined();
        const page = await backend.tasks.newest({ limit: 9 });
        expect(page.map(({ taskId }) => taskId)).toEqual(["t3", "t2"]);
        expect(await backend.read("t3", 0, 9)).toMatchObject([{ seq: 1 }]);
      }),
    );
  });
}
