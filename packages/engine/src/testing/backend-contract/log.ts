import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  type OpenBackend,
  aCreation,
  aStep,
  anEvent,
  someEvents,
  using,
  wholeLog,
} from "./fixtures.ts";

/** Events are returned unchanged and in order, with pages of any size. */
export function describeLog(open: OpenBackend): void {
  describe("the log", () => {
    test(
      "the events of the creation are numbered from 1",
      using(open, async (backend) => {
        const events = someEvents("first", 3);

        const committed = await backend.commit(aCreation("t1", { events }));

        expect(committed).toEqual({ kind: "committed", head: 3 });
        expect(await backend.read("t1", 0, 10)).toMatchObject([
          { seq: 1, json: events[0] },
          { seq: 2, json: events[1] },
          { seq: 3, json: events[2] },
        ]);
      }),
    );

    test(
      "a page of any size at any position is the matching part of the log",
      using(open, async (backend) => {
        const batches = [someEvents("a", 3), someEvents("b", 1), someEvents("c", 4)];
        const all = batches.flat();
        await backend.commit(aCreation("t1", { events: batches[0]! }));
        expect(await backend.commit(aStep("t1", { events: batches[1]! }))).toEqual({
          kind: "committed",
          head: 4,
        });
        expect(await backend.commit(aStep("t1", { events: batches[2]! }))).toEqual({
          kind: "committed",
          head: 8,
        });

        for (let after = 0; after <= all.length; after += 1) {
          for (let limit = 0; limit <= all.length + 1; limit += 1) {
            const page = await backend.read("t1", after, limit);

            const wanted = all
              .slice(after, after + limit)
              .map((json, index) => ({ seq: after + 1 + index, json }));
            expect(page, `after ${after}, limit ${limit}`).toMatchObject(wanted);
          }
        }
      }),
    );

    test(
      "each event has the time of its commit, also after compaction",
      using(open, async (backend) => {
        const start = Date.now();
        await backend.commit(aCreation("t1", { events: someEvents("first", 2) }));
        const between = Date.now();
        while (Date.now() === between) await nextTurn();
        await backend.commit(aStep("t1", { events: [anEvent("last")], state: "completed" }));

        const log = await backend.read("t1", 0, 9);
        const [first, second, last] = log.map(({ at }) => at!);
        expect(first).toBeGreaterThanOrEqual(start);
        expect(first).toBeLessThanOrEqual(between);
        expect(second).toBe(first);
        expect(last).toBeGreaterThan(between);
        await backend.retention.compact("t1", { seq: 3, json: "{}" }, [1]);
        expect(await backend.read("t1", 0, 9)).toEqual([log[0], log[2]]);
      }),
    );

    test(
      "there are no events after the head, and an unknown task has no events",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));

        expect(await backend.read("t1", 1, 10)).toEqual([]);
        expect(await backend.read("t1", 99, 10)).toEqual([]);
        expect(await backend.read("t2", 0, 10)).toEqual([]);
      }),
    );

    test(
      "a step without events does not change the log",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { events: [] }));
        expect(await wholeLog(backend, "t1")).toEqual([]);
        await backend.commit(aStep("t1", { events: [anEvent("only")] }));

        const committed = await backend.commit(aStep("t1", { epoch: 2 }));

        expect(committed).toEqual({ kind: "committed", head: 1 });
        expect(await wholeLog(backend, "t1")).toEqual([anEvent("only")]);
      }),
    );

    test(
      "steps that are submitted together keep their order, and tasks do not mix",
      using(open, async (backend) => {
        await Promise.all([
          backend.commit(aCreation("t1", { events: [] })),
          backend.commit(aCreation("t2", { events: [] })),
        ]);

        const heads = await Promise.all(
          Array.from({ length: 40 }, (_, index) =>
            backend.commit(
              aStep(index % 2 === 0 ? "t1" : "t2", { events: someEvents(`step ${index}`, 2) }),
            ),
          ),
        );

        expect(heads).toEqual(
          Array.from({ length: 40 }, (_, index) => ({
            kind: "committed",
            head: 2 * (Math.floor(index / 2) + 1),
          })),
        );
        const even = Array.from({ length: 20 }, (_, index) =>
          someEvents(`step ${2 * index}`, 2),
        ).flat();
        const odd = Array.from({ length: 20 }, (_, index) =>
          someEvents(`step ${2 * index + 1}`, 2),
        ).flat();
        expect(await wholeLog(backend, "t1")).toEqual(even);
        expect(await wholeLog(backend, "t2")).toEqual(odd);
      }),
    );

    test(
      "events are returned byte for byte",
      using(open, async (backend) => {
        const events = [
          "ß",
          "漢字",
          "👩‍👩‍👧 and 🏴‍☠️",
          "\u2028 and \u2029",
          "\u0000\u0001\u007f",
          "\ud800 alone",
          "\ufeff",
          "a\r\nb\tc",
          "\\n \\\\",
          "",
          "x".repeat(100_000),
        ].map(anEvent);

        await backend.commit(aCreation("t1", { events }));

        expect(await wholeLog(backend, "t1")).toEqual(events);
      }),
    );

    test(
      "an event that is not on one line rejects",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));

        await expect(
          backend.commit(aStep("t1", { events: ['{\n"kind":"task"}'] })),
        ).rejects.toThrow("line");

        expect(await wholeLog(backend, "t1")).toEqual([anEvent("t1 begins")]);
      }),
    );
  });
}
