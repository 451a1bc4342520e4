import { describe, expect, test } from "vitest";
import type { Backend, StoredSnapshot } from "../../log/backend.ts";
import {
  type OpenBackend,
  aCreation,
  aPush,
  aStep,
  anEvent,
  someEvents,
  using,
} from "./fixtures.ts";

/** The log of an ended task can be reduced to its last event and the events to keep. */
export function describeCompaction(open: OpenBackend): void {
  describe("compaction", () => {
    test(
      "only the last event remains, with its original sequence number, and the snapshot replaces the rest",
      using(open, async (backend) => {
        await endWith(backend, "t1", { commits: 3, size: 4 });
        const before = await backend.tasks.get("t1");
        const log = await backend.read("t1", 0, 99);
        expect(before).toMatchObject({ head: 13, compacted: false });

        expect(await backend.retention.compact("t1", fold(13))).toBe(true);

        const after = { ...before, compacted: true };
        expect(await backend.tasks.get("t1")).toEqual({ ...after, snapshot: fold(13) });
        expect((await backend.tasks.list({ owner: "ann", limit: 9 })).records).toEqual([after]);
        const last = log.slice(-1);
        for (const place of [0, 1, 11, 12]) {
          expect(await backend.read("t1", place, 99)).toEqual(last);
          expect(await backend.read("t1", place, 1)).toEqual(last);
          expect(await backend.read("t1", place, 0)).toEqual([]);
        }
        expect(await backend.read("t1", 13, 99)).toEqual([]);
      }),
    );

    test(
      "the events to keep retain their sequence numbers and precede the last event",
      using(open, async (backend) => {
        await endWith(backend, "t1", { commits: 3, size: 4 });
        const log = await backend.read("t1", 0, 99);

        expect(await backend.retention.compact("t1", fold(13), [1, 6, 7, 99])).toBe(true);

        const kept = log.filter(({ seq }) => [1, 6, 7, 13].includes(seq));
        expect(await backend.read("t1", 0, 99)).toEqual(kept);
        expect(await backend.read("t1", 1, 2)).toEqual(kept.slice(1, 3));
        expect(await backend.read("t1", 6, 9)).toEqual(kept.slice(2));
        expect(await backend.tasks.get("t1")).toMatchObject({ head: 13, compacted: true });
        expect(await backend.retention.compact("t1", fold(13), [6])).toBe(true);
        expect(await backend.read("t1", 0, 99)).toEqual([kept[1], kept[3]]);
      }),
    );

    test(
      "a log with a single event does not change",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { state: "completed" }));

        expect(await backend.retention.compact("t1", fold(1))).toBe(true);

        expect(await backend.read("t1", 0, 9)).toMatchObject([
          { seq: 1, json: anEvent("t1 begins") },
        ]);
        expect(await backend.tasks.get("t1")).toMatchObject({ head: 1, compacted: true });
      }),
    );

    test(
      "a task without events can be compacted",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { state: "completed", events: [] }));

        expect(await backend.retention.compact("t1", fold(0))).toBe(true);

        expect(await backend.tasks.get("t1")).toMatchObject({ head: 0, compacted: true });
        expect(await backend.retention.compactable(5_000, 9)).toEqual([]);
      }),
    );

    test(
      "the snapshot replaces the stored one, and compacting again changes nothing",
      using(open, async (backend) => {
        await backend.commit(
          aCreation("t1", {
            state: "completed",
            events: someEvents("a", 3),
            snapshot: { seq: 2, json: "{}" },
          }),
        );

        expect(await backend.retention.compact("t1", fold(3))).toBe(true);
        const once = await backend.tasks.get("t1");
        expect(await backend.retention.compact("t1", fold(3))).toBe(true);

        expect(await backend.tasks.get("t1")).toEqual(once);
        expect(once).toMatchObject({ head: 3, snapshot: fold(3) });
        expect(await backend.read("t1", 0, 9)).toMatchObject([{ seq: 3, json: anEvent("a 2") }]);
      }),
    );

    test(
      "compacting a task that is unfinished or unknown, or with a snapshot that is not at the head, resolves to false",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { events: someEvents("a", 3) }));
        await endWith(backend, "t2", { commits: 1, size: 2 });
        const before = await Promise.all(["t1", "t2"].map((id) => backend.tasks.get(id)));

        expect(await backend.retention.compact("t1", fold(3))).toBe(false);
        expect(await backend.retention.compact("t2", fold(2))).toBe(false);
        expect(await backend.retention.compact("t2", fold(4))).toBe(false);
        expect(await backend.retention.compact("t3", fold(1))).toBe(false);

        expect(await Promise.all(["t1", "t2"].map((id) => backend.tasks.get(id)))).toEqual(before);
        expect(await backend.read("t1", 0, 9)).toHaveLength(3);
        expect(await backend.read("t2", 0, 9)).toHaveLength(3);
      }),
    );

    test(
      "a compacted task still refuses new steps as terminal, and a retry still joins it",
      using(open, async (backend) => {
        const message = { messageId: "m1", digest: "d1" };
        await backend.commit(aCreation("t1", { message }));
        await endStep(backend, "t1", 2_000);

        await backend.retention.compact("t1", fold(2));

        expect(await backend.commit(aStep("t1", { events: [anEvent("no")] }))).toEqual({
          kind: "terminal",
          state: "completed",
        });
        expect(await backend.commit(aCreation("t2", { message }))).toEqual({
          kind: "duplicate",
          taskId: "t1",
          digest: "d1",
        });
        expect(await backend.read("t1", 0, 9)).toMatchObject([
          { seq: 2, json: anEvent("t1 ends") },
        ]);
      }),
    );

    test(
      "compaction is applied after the steps that were submitted before it in the same tick",
      using(open, async (backend) => {
        const answers = await Promise.all([
          backend.commit(aCreation("t1", { events: someEvents("a", 2) })),
          backend.commit(aStep("t1", { events: someEvents("b", 2), state: "completed" })),
          backend.retention.compact("t1", fold(4)),
        ]);

        expect(answers).toEqual([
          { kind: "committed", head: 2 },
          { kind: "committed", head: 4 },
          true,
        ]);
        expect(await backend.read("t1", 0, 9)).toMatchObject([{ seq: 4, json: anEvent("b 1") }]);
      }),
    );
  });

  describe("compactable tasks", () => {
    test(
      "are the tasks that ended before the given time and have their full log, oldest first",
      using(open, async (backend) => {
        for (const [taskId, endedAt] of [
          ["t1", 30],
          ["t2", 10],
          ["t3", 20],
          ["t4", 40],
        ] as const) {
          await backend.commit(aCreation(taskId, { listed: taskId !== "t3" }));
          await endStep(backend, taskId, endedAt);
        }
        await backend.commit(aCreation("t5", { statusAt: 1 }));

        expect(await compactable(backend, 40)).toEqual(["t2", "t3", "t1"]);
        expect(await compactable(backend, 40, 2)).toEqual(["t2", "t3"]);
        expect(await backend.retention.compactable(40, 1)).toEqual([await backend.tasks.get("t2")]);
        await backend.retention.compact("t3", fold(2));
        expect(await compactable(backend, 40)).toEqual(["t2", "t1"]);
        expect(await compactable(backend, 10)).toEqual([]);
      }),
    );

    test(
      "exclude tasks with an active or dead push, but include those whose pushes are done",
      using(open, async (backend) => {
        for (const [taskId, state] of [
          ["t1", "active"],
          ["t2", "done"],
          ["t3", "dead"],
        ] as const) {
          await backend.commit(aCreation(taskId, { push: aPush("p1") }));
          await backend.pushes.put(taskId, aPush("p2"));
          await endStep(backend, taskId, 10);
          for (const [id, reached] of [
            ["p1", "done"],
            ["p2", state],
          ] as const)
            await backend.pushes.progress({
              taskId,
              id,
              generation: 1,
              cursor: 2,
              state: reached,
              failure: null,
            });
        }

        expect(await compactable(backend, 11)).toEqual(["t2"]);
        const head = (await backend.tasks.get("t3"))?.head ?? 0;
        expect(await backend.retention.compact("t3", { seq: head, json: "{}" })).toBe(false);
        await backend.pushes.delete("t1", "p2");
        await backend.pushes.delete("t3", "p2");
        expect(await compactable(backend, 11)).toEqual(["t1", "t2", "t3"]);
      }),
    );
  });

  test(
    "reclaiming space eventually resolves to false and does not change stored data",
    using(open, async (backend) => {
      await endWith(backend, "t1", { commits: 20, size: 50 });
      await backend.commit(aCreation("t2"));
      await backend.retention.compact("t1", fold(1_001));
      const before = await Promise.all(["t1", "t2"].map((id) => backend.tasks.get(id)));

      for (let rounds = 0; await backend.retention.reclaim(); rounds += 1)
        expect(rounds).toBeLessThan(1_000);

      expect(await backend.retention.reclaim()).toBe(false);
      expect(await Promise.all(["t1", "t2"].map((id) => backend.tasks.get(id)))).toEqual(before);
      expect(await backend.commit(aStep("t2", { events: [anEvent("more")] }))).toEqual({
        kind: "committed",
        head: 2,
      });
    }),
  );
}

/** A snapshot as a backend sees it: JSON that contains its position. */
function fold(seq: number): StoredSnapshot {
  return { seq, json: `{"text":"fold ${seq} 😀"}` };
}

/** Creates a task with `commits` times `size` events after the first. The last one ends it. */
async function endWith(
  backend: Backend,
  taskId: string,
  { commits, size }: { readonly commits: number; readonly size: number },
): Promise<void> {
  await backend.commit(aCreation(taskId));
  for (let index = 1; index <= commits; index += 1)
    await backend.commit(
      aStep(taskId, {
        events: someEvents(`a text that all events of commit ${index} have in common`, size),
        state: index === commits ? "completed" : "working",
      }),
    );
}

async function endStep(backend: Backend, taskId: string, statusAt: number): Promise<void> {
  await backend.commit(
    aStep(taskId, { state: "completed", statusAt, events: [anEvent(`${taskId} ends`)] }),
  );
}

async function compactable(
  backend: Backend,
  endedBefore: number,
  limit = 100,
): Promise<readonly string[]> {
  return (await backend.retention.compactable(endedBefore, limit)).map(({ taskId }) => taskId);
}
