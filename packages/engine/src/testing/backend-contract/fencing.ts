import { TASK_STATES, isTerminal, mayFollow } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { type OpenBackend, aCreation, aStep, anEvent, using, wholeLog } from "./fixtures.ts";

/** Epochs fence out older runs, states only move forward, and a refused step writes nothing. */
export function describeFencing(open: OpenBackend): void {
  describe("fencing", () => {
    test(
      "a step with a lower epoch is refused as stale and writes nothing",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { epoch: 3 }));
        const before = await backend.tasks.get("t1");

        const refused = await backend.commit(
          aStep("t1", {
            epoch: 2,
            events: [anEvent("late")],
            state: "completed",
            statusAt: 9_000,
            listed: false,
            message: { messageId: "m1", digest: "d1" },
            snapshot: { seq: 1, json: "{}" },
          }),
        );

        expect(refused).toEqual({ kind: "stale", epoch: 3, head: 1 });
        expect(await wholeLog(backend, "t1")).toEqual([anEvent("t1 begins")]);
        expect(await backend.tasks.get("t1")).toEqual(before);
        const retried = await backend.commit(
          aStep("t1", { epoch: 3, message: { messageId: "m1", digest: "d2" } }),
        );
        expect(retried).toEqual({ kind: "committed", head: 1 });
      }),
    );

    test(
      "a higher epoch is stored and fences out the earlier run",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));

        expect(await backend.commit(aStep("t1", { epoch: 7 }))).toEqual({
          kind: "committed",
          head: 1,
        });

        expect((await backend.tasks.get("t1"))?.epoch).toBe(7);
        expect(await backend.commit(aStep("t1", { epoch: 6 }))).toEqual({
          kind: "stale",
          epoch: 7,
          head: 1,
        });
        expect(await backend.commit(aStep("t1", { epoch: 7 }))).toEqual({
          kind: "committed",
          head: 1,
        });
      }),
    );

    test.each(TASK_STATES.filter(isTerminal))("%s is final for every epoch", (state) =>
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { epoch: 2 }));
        await backend.commit(aStep("t1", { epoch: 2, state, events: [anEvent("end")] }));

        for (const epoch of [1, 2, 3]) {
          for (const next of TASK_STATES) {
            const answer = await backend.commit(
              aStep("t1", { epoch, state: next, events: [anEvent("more")] }),
            );
            expect(answer, `${next} in epoch ${epoch}`).toEqual({ kind: "terminal", state });
          }
        }

        expect(await wholeLog(backend, "t1")).toEqual([anEvent("t1 begins"), anEvent("end")]);
        expect(await backend.tasks.get("t1")).toMatchObject({ state, epoch: 2, head: 2 });
      })(),
    );

    test(
      "the step that creates a task may also end it",
      using(open, async (backend) => {
        expect(await backend.commit(aCreation("t1", { state: "rejected" }))).toEqual({
          kind: "committed",
          head: 1,
        });

        expect(await backend.commit(aStep("t1"))).toEqual({ kind: "terminal", state: "rejected" });
      }),
    );

    test(
      "from each non-terminal state exactly the allowed next states are accepted",
      using(open, async (backend) => {
        for (const from of TASK_STATES.filter((state) => !isTerminal(state))) {
          for (const to of TASK_STATES) {
            const taskId = `${from} then ${to}`;
            await backend.commit(aCreation(taskId, { state: from }));

            const step = backend.commit(aStep(taskId, { state: to, events: [anEvent("next")] }));

            if (mayFollow(from, to)) {
              expect(await step, taskId).toEqual({ kind: "committed", head: 2 });
              expect(await backend.tasks.get(taskId)).toMatchObject({ state: to, head: 2 });
            } else {
              await expect(step, taskId).rejects.toThrow(from);
              expect(await backend.tasks.get(taskId)).toMatchObject({ state: from, head: 1 });
            }
          }
        }
      }),
    );

    test(
      "a step for a task that was never created is refused as unknown",
      using(open, async (backend) => {
        const step = aStep("t1", {
          events: [anEvent("lost")],
          message: { messageId: "m1", digest: "d1" },
        });

        expect(await backend.commit(step)).toEqual({ kind: "unknown" });

        expect(await wholeLog(backend, "t1")).toEqual([]);
        expect(await backend.tasks.get("t1")).toBeUndefined();
        const created = await backend.commit(
          aCreation("t1", { message: { messageId: "m1", digest: "d1" } }),
        );
        expect(created).toEqual({ kind: "committed", head: 1 });
      }),
    );

    test(
      "creating a task twice rejects and changes nothing",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        const before = await backend.tasks.get("t1");

        const again = aCreation(
          "t1",
          { epoch: 9, state: "working", message: { messageId: "m1", digest: "d1" } },
          { owner: "bob" },
        );
        await expect(backend.commit(again)).rejects.toThrow("t1");

        expect(await backend.tasks.get("t1")).toEqual(before);
        expect(await wholeLog(backend, "t1")).toEqual([anEvent("t1 begins")]);
        const other = await backend.commit(
          aCreation("t2", { message: { messageId: "m1", digest: "d1" } }, { owner: "bob" }),
        );
        expect(other).toEqual({ kind: "committed", head: 1 });
      }),
    );
  });
}
