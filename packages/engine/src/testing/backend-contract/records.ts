import { describe, expect, test } from "vitest";
import { type OpenBackend, aCreation, aStep, anEvent, someEvents, using } from "./fixtures.ts";

/** The indexed fields of a task, available without reading its log. */
export function describeRecords(open: OpenBackend): void {
  describe("records", () => {
    test(
      "a record has the fields of the creation and the changes of the last step",
      using(open, async (backend) => {
        await backend.commit(
          aCreation(
            "t1",
            { listed: false },
            { owner: "bob", contextId: "c9", agent: "Poet", agentId: "poet", createdAt: 123 },
          ),
        );
        const created = {
          taskId: "t1",
          owner: "bob",
          contextId: "c9",
          agent: "Poet",
          agentId: "poet",
          createdAt: 123,
        };
        expect(await backend.tasks.get("t1")).toEqual({
          ...created,
          epoch: 1,
          head: 1,
          state: "submitted",
          statusAt: 1_000,
          listed: false,
          compacted: false,
        });

        await backend.commit(
          aStep("t1", {
            epoch: 2,
            events: someEvents("more", 4),
            state: "input-required",
            statusAt: 2_000,
          }),
        );

        expect(await backend.tasks.get("t1")).toEqual({
          ...created,
          epoch: 2,
          head: 5,
          state: "input-required",
          statusAt: 2_000,
          listed: true,
          compacted: false,
        });
      }),
    );

    test(
      "the record alone has the same fields without the snapshot",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { snapshot: { seq: 1, json: "{}" } }));

        const { snapshot, ...record } = (await backend.tasks.get("t1"))!;

        expect(snapshot).toBeDefined();
        expect(await backend.tasks.record("t1")).toEqual(record);
      }),
    );

    test(
      "an unknown task has no record",
      using(open, async (backend) => {
        expect(await backend.tasks.get("t1")).toBeUndefined();
        expect(await backend.tasks.record("t1")).toBeUndefined();
      }),
    );

    test(
      "the newest snapshot is stored, and an older one does not replace it",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { events: someEvents("first", 5) }));
        expect((await backend.tasks.get("t1"))?.snapshot).toBeUndefined();

        for (const [seq, kept] of [
          [2, 2],
          [4, 4],
          [3, 4],
          [5, 5],
          [1, 5],
        ] as const) {
          await backend.commit(
            aStep("t1", { snapshot: { seq, json: `{"text":"fold ${seq} 😀\u2028"}` } }),
          );

          expect((await backend.tasks.get("t1"))?.snapshot).toEqual({
            seq: kept,
            json: `{"text":"fold ${kept} 😀\u2028"}`,
          });
        }
      }),
    );

    test(
      "a snapshot may come with the events it includes, or with the creation",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { snapshot: { seq: 1, json: "{}" } }));
        expect((await backend.tasks.get("t1"))?.snapshot).toEqual({ seq: 1, json: "{}" });

        await backend.commit(
          aStep("t1", { events: [anEvent("more")], snapshot: { seq: 2, json: "[]" } }),
        );

        expect((await backend.tasks.get("t1"))?.snapshot).toEqual({ seq: 2, json: "[]" });
      }),
    );

    test(
      "a snapshot beyond the last event rejects",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));

        await expect(
          backend.commit(
            aStep("t1", { events: [anEvent("more")], snapshot: { seq: 3, json: "{}" } }),
          ),
        ).rejects.toThrow("snapshot");

        expect(await backend.tasks.get("t1")).toMatchObject({ head: 1 });
      }),
    );
  });
}
