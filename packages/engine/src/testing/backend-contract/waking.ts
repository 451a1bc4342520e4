import { TASK_STATES, isTerminal } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import type { Backend, CommitStep } from "../../log/backend.ts";
import { type OpenBackend, aCreation, aStep, anEvent, using } from "./fixtures.ts";

/** A task can have a `wakeAt` time until it is cleared or the task ends. */
export function describeWaking(open: OpenBackend): void {
  describe("waking", () => {
    test(
      "wakeAt can be set at creation or later, and changed",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { wakeAt: 500 }));
        await backend.commit(aCreation("t2"));
        expect(await wishes(backend)).toEqual([["t1", 500]]);
        expect(await backend.tasks.get("t2")).not.toHaveProperty("wakeAt");

        await backend.commit(aStep("t2", { wakeAt: 400 }));
        expect(await wishes(backend)).toEqual([
          ["t2", 400],
          ["t1", 500],
        ]);

        await backend.commit(aStep("t2", { wakeAt: 600 }));
        expect(await wishes(backend)).toEqual([
          ["t1", 500],
          ["t2", 600],
        ]);
        await backend.commit(aStep("t2", { wakeAt: 300 }));
        expect(await wishes(backend)).toEqual([
          ["t2", 300],
          ["t1", 500],
        ]);
      }),
    );

    test(
      "a step without wakeAt does not change it",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { wakeAt: 500 }));
        await backend.commit(aCreation("t2"));
        const silent: readonly Partial<CommitStep>[] = [
          {},
          { events: [anEvent("more")] },
          { state: "input-required", statusAt: 2_000 },
          { state: "working", statusAt: 3_000 },
          { listed: false },
          { message: { messageId: "m1", digest: "d1" } },
          { snapshot: { seq: 1, json: "{}" } },
          { epoch: 2 },
        ];

        for (const overrides of silent) {
          expect(await backend.commit(aStep("t1", overrides))).toMatchObject({ kind: "committed" });
          expect(await wishes(backend), JSON.stringify(overrides)).toEqual([["t1", 500]]);
        }
      }),
    );

    test(
      "null clears wakeAt, also if there is none, and it can be set again",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { wakeAt: 500 }));
        await backend.commit(aCreation("t2", { wakeAt: 600 }));
        await backend.commit(aCreation("t3", { wakeAt: null }));

        for (let count = 0; count < 2; count += 1) {
          await backend.commit(aStep("t1", { wakeAt: null }));
          expect(await wishes(backend)).toEqual([["t2", 600]]);
          expect(await backend.tasks.get("t1")).not.toHaveProperty("wakeAt");
        }
        expect(await backend.tasks.get("t3")).not.toHaveProperty("wakeAt");

        await backend.commit(aStep("t1", { wakeAt: 500 }));
        expect(await wishes(backend)).toEqual([
          ["t1", 500],
          ["t2", 600],
        ]);
      }),
    );

    test.each(TASK_STATES.filter(isTerminal))(
      "%s clears wakeAt, also one that the same step sets",
      (state) =>
        using(open, async (backend) => {
          await backend.commit(aCreation("other", { wakeAt: 900 }));
          await backend.commit(aCreation("silent", { wakeAt: 500 }));
          await backend.commit(aCreation("asking", { wakeAt: 500 }));
          await backend.commit(aCreation("late"));

          await backend.commit(aStep("silent", { state }));
          await backend.commit(aStep("asking", { state, wakeAt: 500 }));
          await backend.commit(aStep("late", { state, wakeAt: 500 }));
          await backend.commit(aCreation("born ended", { state, wakeAt: 500 }));

          expect(await wishes(backend)).toEqual([["other", 900]]);
          for (const taskId of ["silent", "asking", "late", "born ended"]) {
            const record = await backend.tasks.get(taskId);
            expect(record).toMatchObject({ state });
            expect(record).not.toHaveProperty("wakeAt");
          }
        })(),
    );

    test(
      "every non-terminal state can have a wakeAt",
      using(open, async (backend) => {
        const states = TASK_STATES.filter((state) => !isTerminal(state));
        for (const [index, state] of states.entries())
          await backend.commit(aCreation(`t${index}`, { state, wakeAt: index }));

        // The first one is 0, which is an ordinary time.
        expect(await wishes(backend)).toEqual(states.map((_, index) => [`t${index}`, index]));
      }),
    );

    test(
      "tasks are ordered by wakeAt, then by id, up to the limit",
      using(open, async (backend) => {
        // The order of creation, of ids and of the digits of wakeAt are all different.
        for (const [taskId, wakeAt] of [
          ["t1", 1_000],
          ["t5", 20],
          ["t3", 20],
          ["t6", 3],
          ["t4", 20],
          ["t2", 1_000],
        ] as const)
          await backend.commit(aCreation(taskId, { wakeAt, statusAt: 9_000 - wakeAt }));
        const wanted = ["t6", "t3", "t4", "t5", "t1", "t2"];

        for (const limit of [0, 1, 2, 3, 5, 6, 100]) {
          const records = await backend.tasks.waking(limit);
          expect(records.map(({ taskId }) => taskId)).toEqual(wanted.slice(0, limit));
        }
        for (const [place, last] of (await backend.tasks.waking(100)).entries()) {
          const { taskId, wakeAt = 0 } = last;
          const rest = await backend.tasks.waking(2, { taskId, wakeAt });
          expect(rest.map((record) => record.taskId)).toEqual(wanted.slice(place + 1, place + 3));
        }
      }),
    );

    test(
      "waking returns complete records of all owners, listed or not",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { wakeAt: 3 }));
        await backend.commit(aCreation("t2", { wakeAt: 2 }, { owner: "bob", contextId: "c2" }));
        await backend.commit(aCreation("t3", { wakeAt: 1, listed: false }, { owner: "eve" }));
        await backend.commit(aStep("t1", { events: [anEvent("more")] }));

        const woken = await backend.tasks.waking(10);

        expect(woken).toEqual([
          await backend.tasks.get("t3"),
          await backend.tasks.get("t2"),
          await backend.tasks.get("t1"),
        ]);
        expect(woken[2]).toMatchObject({ owner: "ann", head: 2, wakeAt: 3 });
      }),
    );

    test(
      "every list includes wakeAt",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { wakeAt: 500 }));
        const told = [await backend.tasks.get("t1")];
        expect(told).toMatchObject([{ wakeAt: 500 }]);
        const context = {
          owner: "ann",
          contextId: "context",
          before: { createdAt: 1_000, taskId: "t9" },
          limit: 9,
        };

        expect((await backend.tasks.list({ owner: "ann", limit: 9 })).records).toEqual(told);
        expect(await backend.tasks.ofContext(context)).toEqual(told);
        expect(await backend.tasks.unfinished("", 9)).toEqual(told);
      }),
    );

    test.each([100, null])("a step that is not applied does not change wakeAt (%s)", (wakeAt) =>
      using(open, async (backend) => {
        const message = { messageId: "m1", digest: "d1" };
        await backend.commit(aCreation("t1", { epoch: 3, state: "working", wakeAt: 500, message }));
        await backend.commit(aCreation("done", { state: "completed" }));
        const before = await backend.tasks.get("t1");
        const step = aStep("t1", { epoch: 3, wakeAt });

        const answers = await Promise.allSettled(
          [
            { ...step, epoch: 2 },
            { ...step, message },
            { ...step, taskId: "done" },
            { ...step, taskId: "missing" },
            { ...step, state: "submitted" as const },
            { ...step, events: ["{\n}"] },
            { ...step, snapshot: { seq: 9, json: "{}" } },
            aCreation("t1", { epoch: 3, wakeAt }),
            aCreation("twin", { wakeAt, message }),
          ].map((refused) => backend.commit(refused)),
        );

        const outcomes = answers.map((answer) =>
          answer.status === "fulfilled" ? answer.value.kind : answer.status,
        );
        expect(outcomes).toEqual([
          "stale",
          "duplicate",
          "terminal",
          "unknown",
          "rejected",
          "rejected",
          "rejected",
          "rejected",
          "duplicate",
        ]);
        expect(await wishes(backend)).toEqual([["t1", 500]]);
        expect(await backend.tasks.get("t1")).toEqual(before);
        // The next step without wakeAt does not apply the refused value either.
        await backend.commit(aStep("t1", { epoch: 3, events: [anEvent("more")] }));
        expect(await wishes(backend)).toEqual([["t1", 500]]);
      })(),
    );

    test(
      "the last step with a wakeAt in the same tick wins",
      using(open, async (backend) => {
        await Promise.all([
          backend.commit(aCreation("t1", { wakeAt: 500 })),
          backend.commit(aCreation("t2", { wakeAt: 500 })),
          backend.commit(aCreation("t3", { wakeAt: 500 })),
          backend.commit(aStep("t1", { wakeAt: null })),
          backend.commit(aStep("t2", { wakeAt: 600 })),
          backend.commit(aStep("t3", { state: "completed" })),
          backend.commit(aStep("t1", { wakeAt: 700 })),
          backend.commit(aStep("t2", { wakeAt: null })),
          backend.commit(aStep("t3", { wakeAt: 800 })),
          backend.commit(aStep("t1", { events: [anEvent("more")] })),
          backend.commit(aStep("t2", { events: [anEvent("more")] })),
        ]);

        expect(await wishes(backend)).toEqual([["t1", 700]]);
      }),
    );
  });
}

/** Each task that has a `wakeAt`, with its time. Asserts that `get` returns the same record. */
async function wishes(
  backend: Backend,
): Promise<readonly (readonly [taskId: string, wakeAt: number | undefined])[]> {
  const records = await backend.tasks.waking(100);
  for (const record of records)
    expect(await backend.tasks.get(record.taskId)).toMatchObject(record);
  return records.map(({ taskId, wakeAt }) => [taskId, wakeAt]);
}
