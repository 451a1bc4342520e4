import { describe, expect, test } from "vitest";
import { type OpenBackend, aCreation, aStep, anEvent, using, wholeLog } from "./fixtures.ts";

const message = { messageId: "m1", digest: "d1" };

/** A message id is taken once per owner, until it is forgotten after its task. */
export function describeMessages(open: OpenBackend): void {
  describe("messages", () => {
    test(
      "the second send of a message is answered with the first task and digest",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { message }));

        const again = await backend.commit(
          aCreation("t2", { message: { messageId: "m1", digest: "another" } }),
        );

        expect(again).toEqual({ kind: "duplicate", taskId: "t1", digest: "d1" });
        expect(await backend.tasks.get("t2")).toBeUndefined();
        expect(await wholeLog(backend, "t2")).toEqual([]);
      }),
    );

    test(
      "of two sends submitted together the first one wins",
      using(open, async (backend) => {
        const answers = await Promise.all([
          backend.commit(aCreation("t1", { message })),
          backend.commit(aCreation("t2", { message })),
        ]);

        expect(answers).toEqual([
          { kind: "committed", head: 1 },
          { kind: "duplicate", taskId: "t1", digest: "d1" },
        ]);
        expect(await backend.tasks.get("t2")).toBeUndefined();
      }),
    );

    test(
      "another owner may use the same id",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { message }));

        const other = await backend.commit(aCreation("t2", { message }, { owner: "bob" }));

        expect(other).toEqual({ kind: "committed", head: 1 });
      }),
    );

    test(
      "a follow-up message takes its id for the owner of its task",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        await backend.commit(aCreation("t2", {}, { owner: "bob" }));
        await backend.commit(aStep("t1", { message, events: [anEvent("follow-up")] }));

        const duplicate = { kind: "duplicate", taskId: "t1", digest: "d1" };
        expect(await backend.commit(aStep("t1", { message, events: [anEvent("again")] }))).toEqual(
          duplicate,
        );
        expect(await backend.commit(aCreation("t3", { message }))).toEqual(duplicate);
        expect(await backend.commit(aStep("t2", { message }))).toEqual({
          kind: "committed",
          head: 1,
        });
        expect(await wholeLog(backend, "t1")).toEqual([anEvent("t1 begins"), anEvent("follow-up")]);
      }),
    );

    test(
      "a retry joins its task even when that has ended or has a newer run",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { message }));
        const duplicate = { kind: "duplicate", taskId: "t1", digest: "d1" };

        await backend.commit(aStep("t1", { epoch: 5 }));
        expect(await backend.commit(aStep("t1", { epoch: 1, message }))).toEqual(duplicate);
        await backend.commit(aStep("t1", { epoch: 5, state: "completed" }));
        expect(await backend.commit(aStep("t1", { epoch: 6, message }))).toEqual(duplicate);
        expect(await backend.commit(aCreation("t1", { message }))).toEqual(duplicate);
      }),
    );

    test(
      "ids may hold any character",
      using(open, async (backend) => {
        const odd = { messageId: "m'\"\u0000\u2028😀%_", digest: "d\n1" };
        const taskId = "t'\"\u0000😀";
        await backend.commit(
          aCreation(taskId, { message: odd }, { owner: "ann\u0000", contextId: "c\u0000\n😀" }),
        );

        expect(
          await backend.commit(aCreation("t2", { message: odd }, { owner: "ann\u0000" })),
        ).toEqual({ kind: "duplicate", taskId, digest: odd.digest });
        expect(await backend.commit(aCreation("t3", { message: odd }, { owner: "ann" }))).toEqual({
          kind: "committed",
          head: 1,
        });
        expect(await backend.tasks.get(taskId)).toMatchObject({
          taskId,
          owner: "ann\u0000",
          contextId: "c\u0000\n😀",
        });
      }),
    );
  });
}
