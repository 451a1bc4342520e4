import { describe, expect, test } from "vitest";
import { type OpenBackend, aCreation, aStep, anEvent, using, wholeLog } from "./fixtures.ts";

const message = { messageId: "m1", digest: "d1" };

/** Each owner can use a messageId once, until it is freed after its task was pruned. */
export function describeMessages(open: OpenBackend): void {
  describe("messages", () => {
    test(
      "sending a message again is refused as a duplicate that names the first task and digest",
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
      "of two identical sends that are submitted together the first one wins",
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
      "the first one wins also if it belongs to a task that changes hands",
      using(open, async (backend) => {
        const answers = await Promise.all([
          backend.commit(aCreation("t1")),
          backend.commit(aStep("t1", { epoch: 2, message })),
          backend.commit(aCreation("t2", { message })),
        ]);

        expect(answers.map(({ kind }) => kind)).toEqual(["committed", "committed", "duplicate"]);
        expect(answers[2]).toEqual({ kind: "duplicate", taskId: "t1", digest: "d1" });
      }),
    );

    test(
      "another owner can use the same messageId",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { message }));

        const other = await backend.commit(aCreation("t2", { message }, { owner: "bob" }));

        expect(other).toEqual({ kind: "committed", head: 1 });
      }),
    );

    test(
      "the messageId of a follow-up message is used up for the owner of the task",
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
      "a duplicate is reported even if the task has ended or has a newer run",
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
      "a messageId may contain any character",
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
