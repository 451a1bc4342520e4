import { describe, expect, test } from "vitest";
import type { CommitStep } from "../../log/backend.ts";
import {
  type OpenBackend,
  aCreation,
  aPush,
  aStep,
  anEvent,
  someEvents,
  using,
  wholeLog,
} from "./fixtures.ts";

/** A step is appended where its writer believes the log to end, or not at all. */
export function describeAppending(open: OpenBackend): void {
  describe("appending", () => {
    test.each([
      ["the log is longer", { head: 1, epoch: 1 }],
      ["the log is shorter", { head: 3, epoch: 1 }],
      ["an earlier epoch is stored", { head: 2, epoch: 2 }],
      ["a later epoch is stored", { head: 2, epoch: 0 }],
    ])("a step that assumes another end of the log is stale and writes nothing: %s", (_, after) =>
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { events: someEvents("first", 2) }));
        const before = await backend.tasks.get("t1");

        const refused = await backend.commit(
          aStep("t1", {
            after,
            epoch: 5,
            events: [anEvent("late")],
            state: "completed",
            statusAt: 9_000,
            message: { messageId: "m1", digest: "d1" },
            wakeAt: 7_000,
          }),
        );

        expect(refused).toEqual({ kind: "stale", epoch: 1, head: 2 });
        expect(await wholeLog(backend, "t1")).toEqual(someEvents("first", 2));
        expect(await backend.tasks.get("t1")).toEqual(before);
        const retried = aStep("t1", { message: { messageId: "m1", digest: "d2" } });
        expect(await backend.commit(retried)).toEqual({ kind: "committed", head: 2 });
      })(),
    );

    test(
      "of two steps for the same place one is written, also in the same epoch",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        const answer = (text: string): CommitStep =>
          aStep("t1", { after: { head: 1, epoch: 1 }, epoch: 2, events: [anEvent(text)] });

        const results = await Promise.all([
          backend.commit(answer("yes")),
          backend.commit(answer("no")),
        ]);

        expect(results).toEqual([
          { kind: "committed", head: 2 },
          { kind: "stale", epoch: 2, head: 2 },
        ]);
        expect(await wholeLog(backend, "t1")).toEqual([anEvent("t1 begins"), anEvent("yes")]);
      }),
    );

    test(
      "a step that is sent again is committed, and written once",
      using(open, async (backend) => {
        const creation = aCreation("t1", {
          after: { head: 0, epoch: 1 },
          events: someEvents("first", 2),
          message: { messageId: "m1", digest: "d1" },
        });
        const answer = aStep("t1", {
          after: { head: 2, epoch: 1 },
          epoch: 2,
          events: someEvents("second", 3),
          message: { messageId: "m2", digest: "d2" },
        });
        const end = aStep("t1", {
          after: { head: 5, epoch: 2 },
          epoch: 2,
          events: [anEvent("end")],
          state: "completed",
        });

        for (const [step, head] of [
          [creation, 2],
          [answer, 5],
          [end, 6],
        ] as const) {
          const together = await Promise.all([backend.commit(step), backend.commit(step)]);
          expect([...together, await backend.commit(step)]).toEqual(
            Array.from({ length: 3 }, () => ({ kind: "committed", head })),
          );
        }

        const whole = [...someEvents("first", 2), ...someEvents("second", 3), anEvent("end")];
        expect(await wholeLog(backend, "t1")).toEqual(whole);
        for (const [step, head] of [
          [creation, 2],
          [answer, 5],
        ] as const) {
          expect(await backend.commit(step)).toEqual({ kind: "committed", head });
        }
        expect(await wholeLog(backend, "t1")).toEqual(whole);
      }),
    );

    test(
      "a task can end in the step that creates it, with its message and its push config",
      using(open, async (backend) => {
        const whole = aCreation("t1", {
          after: { head: 0, epoch: 1 },
          events: someEvents("all", 4),
          state: "completed",
          message: { messageId: "m1", digest: "d1" },
          push: aPush("p1"),
          wakeAt: 5_000,
          running: true,
        });

        expect(await backend.commit(whole)).toEqual({ kind: "committed", head: 4 });
        expect(await backend.commit(whole)).toEqual({ kind: "committed", head: 4 });

        const again = { ...whole, taskId: "t2" };
        const duplicate = { kind: "duplicate", taskId: "t1", digest: "d1" };
        expect(await backend.commit(again)).toEqual(duplicate);
        expect(await backend.tasks.get("t2")).toBeUndefined();
        expect(await backend.pushes.ofTask("t2")).toEqual([]);
        expect(await backend.tasks.get("t1")).toMatchObject({ state: "completed", head: 4 });
        expect(await backend.pushes.ofTask("t1")).toMatchObject([{ id: "p1", cursor: 0 }]);
        expect(await backend.tasks.unfinished("", 9)).toEqual([]);
        expect(await backend.tasks.waking(9)).toEqual([]);
        const late = aStep("t1", { events: [anEvent("late")] });
        expect(await backend.commit(late)).toEqual({ kind: "terminal", state: "completed" });
      }),
    );

    test(
      "a step without events can be sent again",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        const step = aStep("t1", { after: { head: 1, epoch: 1 }, epoch: 2, wakeAt: 5_000 });

        expect(await backend.commit(step)).toEqual({ kind: "committed", head: 1 });
        expect(await backend.commit(step)).toEqual({ kind: "committed", head: 1 });

        expect(await backend.tasks.get("t1")).toMatchObject({ epoch: 2, wakeAt: 5_000 });
      }),
    );

    test(
      "equal events at another place are not the same step",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        const chunk = (head: number): CommitStep =>
          aStep("t1", { after: { head, epoch: 1 }, events: [anEvent("chunk")] });

        expect(await backend.commit(chunk(1))).toEqual({ kind: "committed", head: 2 });
        expect(await backend.commit(chunk(2))).toEqual({ kind: "committed", head: 3 });
        expect(await backend.commit(chunk(1))).toEqual({ kind: "committed", head: 2 });

        expect(await wholeLog(backend, "t1")).toHaveLength(3);
      }),
    );
  });
}
