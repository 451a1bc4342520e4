import { describe, expect, test } from "vitest";
import { type OpenBackend, aCreation, aStep, anEvent, using, wholeLog } from "./fixtures.ts";

/**
 * Steps submitted in the same tick may share a transaction, but no step affects the outcome of
 * another.
 */
export function describeNeighbours(open: OpenBackend): void {
  describe("neighbours", () => {
    test(
      "refused and invalid steps do not affect the steps around them",
      using(open, async (backend) => {
        const message = { messageId: "m1", digest: "d1" };
        await backend.commit(aCreation("done", { state: "completed" }));
        await backend.commit(aCreation("fenced", { epoch: 4, state: "working" }));

        const answers = await Promise.allSettled([
          backend.commit(aCreation("new", { message })),
          backend.commit(aStep("done", { events: [anEvent("no")] })),
          backend.commit(aStep("new", { events: [anEvent("second")] })),
          backend.commit(aStep("fenced", { epoch: 3, events: [anEvent("no")] })),
          backend.commit(
            aStep("fenced", { epoch: 4, state: "submitted", events: [anEvent("no")] }),
          ),
          backend.commit(aCreation("new", { events: [anEvent("no")] })),
          backend.commit(aCreation("twin", { message, events: [anEvent("no")] })),
          backend.commit(aStep("missing", { events: [anEvent("no")] })),
          backend.commit(aStep("new", { events: [anEvent("n\no"), "{\n}"] })),
          backend.commit(aStep("fenced", { epoch: 4, events: [anEvent("yes")] })),
          backend.commit(aStep("new", { events: [anEvent("third")], state: "completed" })),
          backend.commit(aStep("new", { events: [anEvent("no")] })),
        ]);

        const value = (answer: unknown) => ({ status: "fulfilled", value: answer });
        const mistake = { status: "rejected", reason: expect.any(Error) };
        expect(answers).toEqual([
          value({ kind: "committed", head: 1 }),
          value({ kind: "terminal", state: "completed" }),
          value({ kind: "committed", head: 2 }),
          value({ kind: "stale", epoch: 4, head: 1 }),
          mistake,
          mistake,
          value({ kind: "duplicate", taskId: "new", digest: "d1" }),
          value({ kind: "unknown" }),
          mistake,
          value({ kind: "committed", head: 2 }),
          value({ kind: "committed", head: 3 }),
          value({ kind: "terminal", state: "completed" }),
        ]);
        expect(await wholeLog(backend, "new")).toEqual(
          ["new begins", "second", "third"].map(anEvent),
        );
        expect(await wholeLog(backend, "fenced")).toEqual(["fenced begins", "yes"].map(anEvent));
        expect(await wholeLog(backend, "done")).toEqual([anEvent("done begins")]);
        expect(await wholeLog(backend, "twin")).toEqual([]);
      }),
    );

    test(
      "a step sees the effects of the steps before it in the same tick",
      using(open, async (backend) => {
        const answers = await Promise.all([
          backend.commit(aCreation("t1")),
          backend.commit(aStep("t1", { epoch: 2 })),
          backend.commit(aStep("t1", { epoch: 1 })),
          backend.commit(aStep("t1", { epoch: 2, message: { messageId: "m1", digest: "d1" } })),
          backend.commit(aStep("t1", { epoch: 2, message: { messageId: "m1", digest: "d1" } })),
          backend.commit(aStep("t1", { epoch: 2, state: "failed" })),
          backend.commit(aStep("t1", { epoch: 3 })),
        ]);

        expect(answers.map(({ kind }) => kind)).toEqual([
          "committed",
          "committed",
          "stale",
          "committed",
          "duplicate",
          "committed",
          "terminal",
        ]);
      }),
    );
  });
}
