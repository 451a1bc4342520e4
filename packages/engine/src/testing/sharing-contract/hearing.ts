import { describe, expect, test } from "vitest";
import type { StoredEvent } from "../../log/backend.ts";
import { aStep, anEvent } from "../backend-contract/fixtures.ts";
import { type OpenStorage, aRun, claimAll, eventually, sharing } from "./shared-storage.ts";

/** What a process does reaches the others, whether their hints are lost or not. */
export function describeHearing(open: OpenStorage): void {
  describe("hearing of others", () => {
    test(
      "a watcher is called after commits of another process, with heads that can be read",
      sharing(open, async ({ a, b, c }) => {
        const heads: number[] = [];
        b.watch("t1", (head) => heads.push(head));
        await a.commit(aRun("t1"));
        await eventually(() => heads.at(-1), 1);

        for (let count = 0; count < 5; count += 1) {
          await a.commit(aStep("t1", { events: [anEvent(`more ${count}`)] }));
        }
        await eventually(() => heads.at(-1), 6);

        expect(heads).toEqual([...new Set(heads)].toSorted((one, other) => one - other));
        expect(await b.read("t1", 0, 9)).toHaveLength(6);
        const late: number[] = [];
        c.watch("t1", (head) => late.push(head));
        await eventually(() => late.at(-1), 6);
      }),
    );

    test(
      "a reader that is woken reads each event once and in order, as it is stored",
      sharing(open, async ({ a, b }) => {
        const events: StoredEvent[] = [];
        let reading = Promise.resolve();
        const readOn = async (): Promise<void> => {
          for (;;) {
            const page = await b.read("t1", events.length, 3, 1000);
            if (page.length === 0) return;
            events.push(...page);
          }
        };
        const stop = b.watch("t1", () => {
          reading = reading.then(readOn);
        });
        await a.commit(aRun("t1"));

        for (let count = 0; count < 40; count += 1) {
          await a.commit(aStep("t1", { events: [anEvent(`a ${count}`), anEvent(`b ${count}`)] }));
        }

        await eventually(() => events.length, 81);
        stop();
        await reading;
        expect(events).toEqual(await a.read("t1", 0, 99));
      }),
    );

    test(
      "the process that works on a task hears of its mailbox, and others do not",
      sharing(open, async ({ a, b, c }) => {
        const heard: string[] = [];
        a.sharing.onMailbox((taskIds) => heard.push(...taskIds));
        const stop = a.sharing.onMailbox(() => heard.push("stopped"));
        c.sharing.onMailbox(() => heard.push("c"));
        stop();
        await a.commit(aRun("t1"));
        await a.commit(aRun("t2"));

        await b.sharing.post("t1", { kind: "cancel", json: "{}" });
        await eventually(() => [...new Set(heard)], ["t1"]);
        await a.sharing.post("t2", { kind: "cancel", json: "{}" });
        await eventually(() => [...new Set(heard)], ["t1", "t2"]);
      }),
    );

    test(
      "a process hears once that another one has its task, because it was claimed or answered",
      sharing(open, async ({ a, b, c }, storage) => {
        const lost: string[] = [];
        a.sharing.onLost((taskIds) => lost.push(...taskIds));
        await a.commit(aRun("claimed"));
        await a.commit(aRun("answered"));
        const answer = { after: { head: 1, epoch: 1 }, epoch: 2, events: [anEvent("yes")] };

        await b.commit(aStep("answered", { ...answer, running: true }));
        await eventually(() => lost, ["answered"]);
        await storage.expire(a);
        await claimAll(c);

        await eventually(() => lost, ["answered", "claimed"]);
      }),
    );

    test(
      "the process that works on a task, and those that watch it, hear that its log has lost events",
      sharing(open, async ({ a, b }, storage) => {
        const lost: string[] = [];
        const heads: number[] = [];
        a.sharing.onLost((taskIds) => lost.push(...taskIds));
        await a.commit(aRun("t1"));
        b.watch("t1", (head) => heads.push(head));
        await a.commit(aStep("t1", { after: { head: 1, epoch: 1 }, events: [anEvent("two")] }));
        await eventually(() => heads.at(-1), 2);

        await storage.loseAfter("t1", 1);

        await eventually(() => lost, ["t1"]);
        await eventually(() => heads.at(-1), 1);
        const late = aStep("t1", { after: { head: 2, epoch: 1 }, events: [anEvent("three")] });
        expect(await a.commit(late)).toEqual({ kind: "stale", epoch: 1, head: 1 });
      }),
    );
  });
}
