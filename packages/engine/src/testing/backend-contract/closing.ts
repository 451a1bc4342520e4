import { describe, expect, test } from "vitest";
import { type OpenBackend, aCreation, aPush, aStep, someEvents } from "./fixtures.ts";

/** close() completes pending calls; afterwards every call rejects. */
export function describeClosing(open: OpenBackend): void {
  describe("closing", () => {
    test("calls that are pending at close() complete", async () => {
      const backend = await open();
      await backend.commit(aCreation("t1"));
      const answers: unknown[] = [];
      for (let index = 0; index < 20; index += 1) {
        void backend
          .commit(aStep("t1", { events: someEvents(`${index}`, 2) }))
          .then((answer) => answers.push(answer));
      }
      const others = Promise.all([
        backend.pushes.put("t1", aPush("p1")),
        backend.retention.reclaim(),
        backend.retention.prune({ endedBefore: 1, keep: 0, limit: 1 }),
      ]);

      await backend.close();

      expect(await others).toEqual([
        expect.objectContaining({ id: "p1" }),
        expect.any(Boolean),
        [],
      ]);

      expect(answers).toEqual(
        Array.from({ length: 20 }, (_, index) => ({ kind: "committed", head: 2 * index + 3 })),
      );
    });

    test("every call after close() rejects, and closing again has no effect", async () => {
      const backend = await open();
      await backend.commit(aCreation("t1"));

      await Promise.all([backend.close(), backend.close()]);
      await backend.close();

      await expect(backend.commit(aStep("t1"))).rejects.toThrow("closed");
      await expect(backend.read("t1", 0, 1)).rejects.toThrow("closed");
      await expect(backend.tasks.get("t1")).rejects.toThrow("closed");
      await expect(backend.tasks.list({ owner: "ann", limit: 1 })).rejects.toThrow("closed");
      await expect(
        backend.tasks.ofContext({
          owner: "ann",
          contextId: "context",
          before: { createdAt: 1_000, taskId: "t9" },
          limit: 1,
        }),
      ).rejects.toThrow("closed");
      await expect(backend.tasks.unfinished("", 1)).rejects.toThrow("closed");
      await expect(backend.tasks.newest({ limit: 1 })).rejects.toThrow("closed");
      await expect(backend.tasks.waking(1)).rejects.toThrow("closed");
      await expect(backend.tasks.changedSince({ owner: "ann", at: 1 })).rejects.toThrow("closed");
      const { pushes, retention } = backend;
      await expect(pushes.put("t1", aPush("p1"))).rejects.toThrow("closed");
      await expect(pushes.get("t1", "p1")).rejects.toThrow("closed");
      await expect(pushes.ofTask("t1")).rejects.toThrow("closed");
      await expect(pushes.list({ state: "active", limit: 1 })).rejects.toThrow("closed");
      const progress = { taskId: "t1", id: "p1", generation: 1, cursor: 1, failure: null };
      await expect(pushes.progress({ ...progress, state: "done" })).rejects.toThrow("closed");
      await expect(pushes.delete("t1", "p1")).rejects.toThrow("closed");
      await expect(retention.prune({ endedBefore: 1, keep: 1, limit: 1 })).rejects.toThrow(
        "closed",
      );
      await expect(retention.forgetMessages(1, 1)).rejects.toThrow("closed");
      await expect(retention.forgetContexts(1, 1)).rejects.toThrow("closed");
      await expect(retention.compactable(1, 1)).rejects.toThrow("closed");
      await expect(retention.compact("t1", { seq: 1, json: "{}" })).rejects.toThrow("closed");
      await expect(retention.reclaim()).rejects.toThrow("closed");
      backend.watch("t1", () => {})();
    });
  });
}
