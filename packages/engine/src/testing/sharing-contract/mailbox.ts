import { describe, expect, test } from "vitest";
import { aStep, anEvent } from "../backend-contract/fixtures.ts";
import { type OpenStorage, aRun, claimAll, sharing } from "./shared-storage.ts";

const message = { messageId: "m1", digest: "d1" };
const entry = { kind: "message", json: '{"text":"Hello"}', message } as const;

/** What is posted to a task is handled by exactly one step of its process, or its task has ended. */
export function describeMailbox(open: OpenStorage): void {
  describe("the mailbox", () => {
    test(
      "entries are read in their order, and removed by the step that handles them",
      sharing(open, async ({ a, b }) => {
        await a.commit(aRun("t1"));
        const posted = await b.sharing.post("t1", entry);
        await b.sharing.post("t1", { kind: "cancel", json: "{}" });

        const [first, second] = await a.sharing.mailbox("t1");
        expect(posted).toEqual({ kind: "posted", id: first?.id });
        expect(first).toEqual({ id: first?.id, ...entry });
        expect(second).toMatchObject({ kind: "cancel" });
        const step = { events: [anEvent("message")], message, mailbox: [first!.id] };
        expect(await a.commit(aStep("t1", step))).toEqual({ kind: "committed", head: 2 });

        expect(await a.sharing.mailbox("t1")).toEqual([second]);
        expect(await b.sharing.post("t1", entry)).toEqual({
          kind: "duplicate",
          taskId: "t1",
          digest: "d1",
        });
      }),
    );

    test(
      "a message that is posted or sent twice is a duplicate, wherever it was first",
      sharing(open, async ({ a, b, c }) => {
        await a.commit(aRun("t1", { message: { messageId: "m0", digest: "d0" } }));
        const duplicate = { kind: "duplicate", taskId: "t1" };

        const together = await Promise.all([b, c].map(({ sharing: s }) => s.post("t1", entry)));

        expect(together.map(({ kind }) => kind).toSorted()).toEqual(["duplicate", "posted"]);
        expect(await b.commit(aRun("t2", { message }))).toMatchObject(duplicate);
        const sent = { ...entry, message: { messageId: "m0", digest: "x" } };
        expect(await b.sharing.post("t1", sent)).toEqual({ ...duplicate, digest: "d0" });
        expect(await a.sharing.mailbox("t1")).toHaveLength(1);
      }),
    );

    test(
      "the end of a task removes its entries and frees their messages",
      sharing(open, async ({ a, b }) => {
        await a.commit(aRun("t1"));
        await b.sharing.post("t1", entry);

        await a.commit(aStep("t1", { state: "failed", events: [anEvent("end")] }));

        expect(await a.sharing.mailbox("t1")).toEqual([]);
        expect(await b.sharing.post("t1", entry)).toEqual({ kind: "terminal", state: "failed" });
        expect(await b.sharing.post("none", entry)).toEqual({ kind: "unknown" });
        expect(await b.commit(aRun("t2", { message }))).toMatchObject({ kind: "committed" });
      }),
    );

    test(
      "an entry that a refused step names is not removed, and the process that claims the task has it",
      sharing(open, async ({ a, b }, storage) => {
        await a.commit(aRun("t1"));
        await b.sharing.post("t1", entry);
        await storage.expire(a);
        const [claimed] = await claimAll(b);
        const [{ id } = { id: "" }] = await b.sharing.mailbox("t1");
        const handles = { events: [anEvent("message")], message, mailbox: [id] };

        const after = { head: 1, epoch: 1 };
        const late = await a.commit(aStep("t1", { ...handles, after }));
        expect(late.kind).toBe("stale");
        expect(await b.sharing.mailbox("t1")).toHaveLength(1);
        const epoch = claimed!.epoch;
        const handled = await b.commit(
          aStep("t1", { ...handles, after: { head: 1, epoch }, epoch }),
        );

        expect(handled).toEqual({ kind: "committed", head: 2 });
        expect(await b.sharing.mailbox("t1")).toEqual([]);
      }),
    );
  });
}
