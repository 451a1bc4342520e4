import { describe, expect, test } from "vitest";
import type { Backend, PushProgress, PushQuery } from "../../log/backend.ts";
import { type OpenBackend, aCreation, aPush, aStep, anEvent, using } from "./fixtures.ts";

/** Push configs: creating, replacing, recording progress, listing and deleting. */
export function describePushes(open: OpenBackend): void {
  describe("push configs", () => {
    test(
      "a new config is active, belongs to the owner of its task and has generation 1",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", {}, { owner: "bob" }));

        const put = await backend.pushes.put(
          "t1",
          aPush("p1", { cursor: 7, config: '{"a":"😀"}' }),
        );

        expect(put).toEqual({
          taskId: "t1",
          id: "p1",
          owner: "bob",
          config: '{"a":"😀"}',
          generation: 1,
          cursor: 7,
          state: "active",
        });
        expect(await backend.pushes.get("t1", "p1")).toEqual(put);
      }),
    );

    test(
      "replacing a config resets its progress and increments its generation",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        await backend.pushes.put("t1", aPush("p1"));
        await backend.pushes.progress(
          progressOf("p1", { state: "dead", failure: { since: 5, problem: "refused" } }),
        );

        const again = await backend.pushes.put("t1", aPush("p1", { config: "{}", cursor: 3 }));

        expect(again).toEqual({
          taskId: "t1",
          id: "p1",
          owner: "ann",
          config: "{}",
          generation: 2,
          cursor: 3,
          state: "active",
        });
        expect(await backend.pushes.ofTask("t1")).toEqual([again]);
        expect(await backend.pushes.put("t1", aPush("p1"))).toMatchObject({ generation: 3 });
      }),
    );

    test(
      "a config for a task that does not exist is not stored",
      using(open, async (backend) => {
        expect(await backend.pushes.put("t1", aPush("p1"))).toBeUndefined();

        await backend.commit(aCreation("t1"));

        expect(await backend.pushes.get("t1", "p1")).toBeUndefined();
        expect(await backend.pushes.ofTask("t1")).toEqual([]);
      }),
    );

    test(
      "a config can be added to an ended task",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { state: "completed" }));

        expect(await backend.pushes.put("t1", aPush("p1"))).toMatchObject({ state: "active" });
      }),
    );

    test(
      "ofTask returns the configs of one task, ordered by id",
      using(open, async (backend) => {
        await fill(backend, ["t1/b", "t2/a", "t1/c", "t1/a", "t10/a"]);

        expect(await places(backend.pushes.ofTask("t1"))).toEqual(["t1/a", "t1/b", "t1/c"]);
        expect(await places(backend.pushes.ofTask("t3"))).toEqual([]);
        expect(await backend.pushes.get("t2", "b")).toBeUndefined();
      }),
    );

    test(
      "progress stores the cursor, the state and the failure of a delivery",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        const put = await backend.pushes.put("t1", aPush("p1"));

        const failure = { since: 5_000, problem: "connection refused" };
        expect(await backend.pushes.progress(progressOf("p1", { cursor: 4, failure }))).toBe(true);
        expect(await backend.pushes.get("t1", "p1")).toEqual({
          ...put,
          cursor: 4,
          failingSince: 5_000,
          problem: "connection refused",
        });

        expect(await backend.pushes.progress(progressOf("p1", { cursor: 6 }))).toBe(true);
        expect(await backend.pushes.get("t1", "p1")).toEqual({ ...put, cursor: 6 });

        for (const state of ["dead", "active", "done"] as const) {
          expect(await backend.pushes.progress(progressOf("p1", { cursor: 9, state }))).toBe(true);
          expect(await backend.pushes.get("t1", "p1")).toEqual({ ...put, cursor: 9, state });
        }
      }),
    );

    test(
      "progress for a config that was replaced in the meantime is not stored",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        await backend.pushes.put("t1", aPush("p1"));
        const again = await backend.pushes.put("t1", aPush("p1"));

        for (const generation of [1, 3]) {
          const late = progressOf("p1", { generation, cursor: 9, state: "dead" });
          expect(await backend.pushes.progress(late)).toBe(false);
        }

        expect(await backend.pushes.get("t1", "p1")).toEqual(again);
        expect(await backend.pushes.progress(progressOf("p1", { generation: 2 }))).toBe(true);
      }),
    );

    test(
      "deleting a config resolves to true once, and its progress is no longer stored",
      using(open, async (backend) => {
        await fill(backend, ["t1/p1", "t1/p2", "t2/p1"]);

        expect(await backend.pushes.delete("t1", "p1")).toBe(true);

        expect(await backend.pushes.delete("t1", "p1")).toBe(false);
        expect(await backend.pushes.delete("t3", "p1")).toBe(false);
        expect(await backend.pushes.progress(progressOf("p1"))).toBe(false);
        expect(await backend.pushes.get("t1", "p1")).toBeUndefined();
        expect(await places(backend.pushes.ofTask("t1"))).toEqual(["t1/p2"]);
        expect(await places(backend.pushes.ofTask("t2"))).toEqual(["t2/p1"]);
      }),
    );

    test(
      "config changes are applied in order with the other steps of the same tick",
      using(open, async (backend) => {
        const { pushes } = backend;

        const answers = await Promise.all([
          pushes.put("t1", aPush("early")),
          backend.commit(aCreation("t1")),
          pushes.put("t1", aPush("p1")),
          pushes.progress(progressOf("p1", { cursor: 1 })),
          pushes.put("t1", aPush("p1")),
          pushes.progress(progressOf("p1", { cursor: 2 })),
          backend.commit(aStep("t1", { push: aPush("p2") })),
          pushes.delete("t1", "p2"),
          backend.commit(aStep("t1", { events: [anEvent("more")] })),
        ]);

        expect(answers).toEqual([
          undefined,
          { kind: "committed", head: 1 },
          expect.objectContaining({ generation: 1 }),
          true,
          expect.objectContaining({ generation: 2 }),
          false,
          { kind: "committed", head: 1 },
          true,
          { kind: "committed", head: 2 },
        ]);
        expect(await places(pushes.ofTask("t1"))).toEqual(["t1/p1"]);
      }),
    );
  });

  describe("lists of push configs", () => {
    test(
      "configs in each state are ordered by task id and config id, in pages",
      using(open, async (backend) => {
        const all = ["t2/a", "t1/b", "t3/a", "t1/a", "t10/c", "t2/c", "t2/b"];
        await fill(backend, all);
        await backend.pushes.progress(progressOf("b", { taskId: "t2", state: "dead" }));
        await backend.pushes.progress(progressOf("a", { taskId: "t3", state: "done" }));
        const active = ["t1/a", "t1/b", "t10/c", "t2/a", "t2/c"];

        for (const limit of [1, 2, 100])
          expect(await walk(backend, { state: "active", limit })).toEqual(active);
        expect(await walk(backend, { state: "dead", limit: 10 })).toEqual(["t2/b"]);
        expect(await walk(backend, { state: "done", limit: 10 })).toEqual(["t3/a"]);
        expect(
          await places(
            backend.pushes.list({
              state: "active",
              after: { taskId: "t1", id: "b" },
              limit: 2,
            }),
          ),
        ).toEqual(["t10/c", "t2/a"]);
      }),
    );

    test(
      "a list limited to an owner contains only that owner's configs",
      using(open, async (backend) => {
        await fill(backend, ["t1/a", "t3/a"], "ann");
        await fill(backend, ["t2/a", "t4/a"], "bob");
        const query = { state: "active", limit: 1 } as const;

        expect(await walk(backend, { ...query, owner: "bob" })).toEqual(["t2/a", "t4/a"]);
        expect(await walk(backend, { ...query, owner: "eve" })).toEqual([]);
        expect(await walk(backend, query)).toEqual(["t1/a", "t2/a", "t3/a", "t4/a"]);
      }),
    );

    test(
      "lists return complete configs",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        await backend.pushes.put("t1", aPush("p1"));
        const failure = { since: 5, problem: "gone" };
        await backend.pushes.progress(progressOf("p1", { cursor: 3, state: "dead", failure }));

        const listed = await backend.pushes.list({ state: "dead", limit: 9 });

        expect(listed).toEqual([await backend.pushes.get("t1", "p1")]);
        expect(listed[0]).toMatchObject({ cursor: 3, failingSince: 5, problem: "gone" });
      }),
    );
  });

  describe("a step with a push config", () => {
    test(
      "stores the config in the same transaction, both at creation and later",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { push: aPush("p1", { cursor: 1 }) }));
        expect(await backend.pushes.ofTask("t1")).toEqual([
          { taskId: "t1", owner: "ann", ...aPush("p1", { cursor: 1 }), ...fresh },
        ]);

        await backend.commit(aStep("t1", { push: aPush("p1", { config: "{}" }) }));

        expect(await backend.pushes.get("t1", "p1")).toMatchObject({ generation: 2, config: "{}" });
      }),
    );

    test(
      "stores no config if it is refused",
      using(open, async (backend) => {
        const message = { messageId: "m1", digest: "d1" };
        await backend.commit(aCreation("t1", { message, epoch: 3 }));
        await backend.commit(aCreation("t2", { state: "completed" }));
        const push = aPush("p1");

        const answers = await Promise.all([
          backend.commit(aCreation("t3", { message, push })),
          backend.commit(aStep("t1", { message, epoch: 3, push })),
          backend.commit(aStep("t1", { epoch: 2, push })),
          backend.commit(aStep("t2", { push })),
          backend.commit(aStep("t4", { push })),
        ]);
        await expect(backend.commit(aCreation("t1", { epoch: 3, push }))).rejects.toThrow(
          "created already",
        );

        expect(answers.map(({ kind }) => kind)).toEqual([
          "duplicate",
          "duplicate",
          "stale",
          "terminal",
          "unknown",
        ]);
        for (const taskId of ["t1", "t2", "t3", "t4"])
          expect(await backend.pushes.ofTask(taskId)).toEqual([]);
        expect(await backend.pushes.list({ state: "active", limit: 9 })).toEqual([]);
      }),
    );
  });
}

const fresh = { generation: 1, state: "active" } as const;

/** Progress of t1's config in its first generation: no change, no failure. */
function progressOf(id: string, overrides: Partial<PushProgress> = {}): PushProgress {
  return {
    taskId: "t1",
    id,
    generation: 1,
    cursor: 0,
    state: "active",
    failure: null,
    ...overrides,
  };
}

/** Puts configs named `task/id` after creating their tasks. */
async function fill(
  backend: Backend,
  names: readonly string[],
  owner: string = "ann",
): Promise<void> {
  for (const name of names) {
    const [taskId = "", id = ""] = name.split("/");
    if ((await backend.tasks.get(taskId)) === undefined)
      await backend.commit(aCreation(taskId, {}, { owner }));
    await backend.pushes.put(taskId, aPush(id));
  }
}

async function walk(backend: Backend, query: PushQuery): Promise<readonly string[]> {
  const walked: string[] = [];
  for (let page = await backend.pushes.list(query); page.length > 0;) {
    expect(page.length).toBeLessThanOrEqual(query.limit);
    walked.push(...page.map(({ taskId, id }) => `${taskId}/${id}`));
    const { taskId, id } = page.at(-1)!;
    page = await backend.pushes.list({ ...query, after: { taskId, id } });
  }
  return walked;
}

async function places(pushes: ReturnType<Backend["pushes"]["ofTask"]>): Promise<readonly string[]> {
  return (await pushes).map(({ taskId, id }) => `${taskId}/${id}`);
}
