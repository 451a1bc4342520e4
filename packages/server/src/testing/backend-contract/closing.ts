import { describe, expect, test } from "vitest";
import { type OpenBackend, aCreation, aStep, someEvents } from "./fixtures.ts";

/** Closing finishes what was begun; afterwards nothing is accepted. */
export function describeClosing(open: OpenBackend): void {
  describe("closing", () => {
    test("commits that were begun are finished", async () => {
      const backend = await open();
      await backend.commit(aCreation("t1"));
      const answers: unknown[] = [];
      for (let index = 0; index < 20; index += 1) {
        void backend
          .commit(aStep("t1", { events: someEvents(`${index}`, 2) }))
          .then((answer) => answers.push(answer));
      }

      await backend.close();

      expect(answers).toEqual(
        Array.from({ length: 20 }, (_, index) => ({ kind: "committed", head: 2 * index + 3 })),
      );
    });

    test("every later call rejects, and closing again is harmless", async () => {
      const backend = await open();
      await backend.commit(aCreation("t1"));

      await Promise.all([backend.close(), backend.close()]);
      await backend.close();

      await expect(backend.commit(aStep("t1"))).rejects.toThrow("closed");
      await expect(backend.read("t1", 0, 1)).rejects.toThrow("closed");
      await expect(backend.tasks.get("t1")).rejects.toThrow("closed");
      await expect(backend.tasks.list({ owner: "ann", limit: 1 })).rejects.toThrow("closed");
      await expect(
        backend.tasks.ofContext({ owner: "ann", contextId: "context", before: "t9", limit: 1 }),
      ).rejects.toThrow("closed");
      await expect(backend.tasks.unfinished("", 1)).rejects.toThrow("closed");
      await expect(backend.tasks.waking(1)).rejects.toThrow("closed");
      backend.watch("t1", () => {})();
    });
  });
}
