import { describe, expect, test } from "vitest";
import type { Backend, CommitResult, CommitStep, NewTask } from "../../log/backend.ts";
import { type OpenBackend, aCreation, aPush, aStep, using } from "./fixtures.ts";

const FORGOTTEN: CommitResult = { kind: "forgotten" };

/** A context whose tasks were all pruned is remembered as expired until its id is freed. */
export function describeContexts(open: OpenBackend): void {
  describe("expired contexts", () => {
    test(
      "a context expires when its last task is pruned; a context that was never used has not expired",
      using(open, async (backend) => {
        await end(backend, "t1", 10);
        await end(backend, "t2", 20);

        await prune(backend, 11);
        expect(await opens(backend)).toBe(true);
        await end(backend, "t3", 30);
        await prune(backend, 1_000);

        expect(await opens(backend)).toBe(false);
        expect(await opens(backend, { contextId: "never used" })).toBe(true);
      }),
    );

    test(
      "a task refused for its expired context leaves nothing behind, and its message can be sent to another context",
      using(open, async (backend) => {
        await end(backend, "t1", 10);
        await prune(backend, 11);
        const message = { messageId: "m1", digest: "d1" };
        const push = aPush("p1");

        expect(await backend.commit(opening("t2", { message, push }))).toEqual(FORGOTTEN);

        expect(await backend.tasks.get("t2")).toBeUndefined();
        expect(await backend.read("t2", 0, 9)).toEqual([]);
        expect(await backend.pushes.ofTask("t2")).toEqual([]);
        expect(await backend.tasks.list({ owner: "ann", limit: 9 })).toMatchObject({ total: 0 });
        expect(
          await backend.commit(opening("t2", { message }, { contextId: "another" })),
        ).toMatchObject({ kind: "committed" });
      }),
    );

    test(
      "only a step that sets unlessForgotten is refused",
      using(open, async (backend) => {
        await end(backend, "t1", 10);
        await prune(backend, 11);

        expect(await backend.commit(aCreation("t2"))).toMatchObject({ kind: "committed" });
      }),
    );

    test(
      "a context does not expire while it has a remaining task, including an unfinished one",
      using(open, async (backend) => {
        await end(backend, "t1", 10);
        await backend.commit(aCreation("t2", { state: "input-required", statusAt: 10 }));

        await prune(backend, 1_000);

        expect(await opens(backend)).toBe(true);
      }),
    );

    test(
      "an unlisted task neither keeps a context from expiring nor makes it one that can expire",
      using(open, async (backend) => {
        await end(backend, "t1", 10);
        await backend.commit(aCreation("t2", { listed: false }));
        const unlisted = { state: "completed", listed: false, statusAt: 10 } as const;
        await backend.commit(aCreation("t3", unlisted, { contextId: "only replies" }));

        await prune(backend, 1_000);
        expect(await opens(backend)).toBe(false);
        expect(await opens(backend, { contextId: "only replies" })).toBe(true);

        // The next step of an unlisted task may list it.
        await backend.commit(aStep("t2"));
        expect(await opens(backend)).toBe(true);
      }),
    );

    test(
      "contexts with the same id but different owners are separate",
      using(open, async (backend) => {
        await end(backend, "t1", 10);
        await end(backend, "t2", 20, { owner: "bob" });

        await prune(backend, 11);
        expect(await opens(backend)).toBe(false);
        expect(await opens(backend, { owner: "bob" })).toBe(true);
        expect(await opens(backend, { owner: "eve" })).toBe(true);

        await prune(backend, 21);
        expect(await opens(backend, { owner: "bob" })).toBe(false);
      }),
    );

    test(
      "a messageId that was used before is reported as a duplicate even if the context has expired",
      using(open, async (backend) => {
        const message = { messageId: "m1", digest: "d1" };
        await backend.commit(opening("t1", { message, state: "completed", statusAt: 10 }));
        await prune(backend, 11);

        expect(await backend.commit(opening("t2", { message }))).toEqual({
          kind: "duplicate",
          taskId: "t1",
          digest: "d1",
        });
      }),
    );

    test(
      "pruning and creating tasks take effect for later steps of the same tick",
      using(open, async (backend) => {
        const [, pruned, refused] = await Promise.all([
          backend.commit(opening("t1", { state: "completed", statusAt: 10 })),
          prune(backend, 11),
          backend.commit(opening("t2")),
        ]);
        expect([pruned, refused]).toEqual([1, FORGOTTEN]);

        const [, opened] = await Promise.all([
          backend.commit(aCreation("t3")),
          backend.commit(opening("t4")),
        ]);
        expect(opened).toMatchObject({ kind: "committed" });
      }),
    );

    test(
      "the context id is freed once its most recently ended task is old enough, regardless of the order of pruning",
      using(open, async (backend) => {
        await end(backend, "t1", 10);
        await backend.pushes.put("t1", aPush("p1"));
        await end(backend, "t2", 20);
        expect(await prune(backend, 1_000)).toBe(1);
        const { id, generation, cursor } = (await backend.pushes.ofTask("t1"))[0]!;
        const done = { taskId: "t1", id, generation, cursor, failure: null } as const;
        await backend.pushes.progress({ ...done, state: "done" });
        expect(await prune(backend, 1_000)).toBe(1);

        expect(await backend.retention.forgetContexts(20, 9)).toBe(0);
        expect(await opens(backend)).toBe(false);
        expect(await backend.retention.forgetContexts(21, 9)).toBe(1);
        expect(await opens(backend)).toBe(true);
      }),
    );

    test(
      "context ids are freed oldest first, up to the limit, separately for each owner",
      using(open, async (backend) => {
        const owners = ["ann", "bob", "eve"];
        for (const [index, owner] of owners.entries())
          await end(backend, `t${index}`, 30 - index, { owner });
        await prune(backend, 1_000);

        expect(await backend.retention.forgetContexts(31, 2)).toBe(2);
        expect(await opens(backend, { owner: "ann" })).toBe(false);
        expect(await opens(backend, { owner: "bob" })).toBe(true);
        expect(await backend.retention.forgetContexts(31, 2)).toBe(1);
        expect(await opens(backend, { owner: "ann" })).toBe(true);
        expect(await backend.retention.forgetContexts(31, 2)).toBe(0);
      }),
    );

    test(
      "freeing messageIds and freeing context ids are independent",
      using(open, async (backend) => {
        const message = { messageId: "m1", digest: "d1" };
        await backend.commit(opening("t1", { message, state: "completed", statusAt: 10 }));
        await prune(backend, 11);

        expect(await backend.retention.forgetMessages(11, 9)).toBe(1);
        expect(await backend.commit(opening("t2", { message }))).toEqual(FORGOTTEN);
        expect(await backend.retention.forgetContexts(11, 9)).toBe(1);
        expect(await backend.commit(opening("t2", { message }))).toMatchObject({
          kind: "committed",
        });
      }),
    );
  });
}

/** The first step of a task whose caller chose the context id. */
function opening(
  taskId: string,
  overrides: Partial<CommitStep> = {},
  task: Partial<NewTask> = {},
): CommitStep {
  return aCreation(taskId, overrides, { ...task, unlessForgotten: true });
}

/** Creates a task that ended at the given time. */
async function end(
  backend: Backend,
  taskId: string,
  statusAt: number,
  task: Partial<NewTask> = {},
): Promise<void> {
  await backend.commit(aCreation(taskId, { state: "completed", statusAt }, task));
}

async function prune(backend: Backend, endedBefore: number): Promise<number> {
  const query = { endedBefore, keep: Number.POSITIVE_INFINITY, limit: 100 };
  return (await backend.retention.prune(query)).length;
}

/**
 * Whether a task can be created in the context. The task that tests it is unlisted and pruned
 * again.
 */
async function opens(backend: Backend, task: Partial<NewTask> = {}): Promise<boolean> {
  const asking = { listed: false, state: "completed", statusAt: 0 } as const;
  const { kind } = await backend.commit(opening("asking", asking, task));
  if (kind === "committed") await prune(backend, 1);
  return kind === "committed";
}
