import { describe, expect, test } from "vitest";
import { type OpenBackend, aCreation, aStep, anEvent, someEvents, using } from "./fixtures.ts";

/** Watchers are called after each durable commit to their task, and for nothing else. */
export function describeWatching(open: OpenBackend): void {
  describe("watching", () => {
    test(
      "a watcher receives the head of each commit, once it can be read and not earlier",
      using(open, async (backend) => {
        const heads: number[] = [];
        const pages: Promise<unknown>[] = [];
        backend.watch("t1", (head) => {
          heads.push(head);
          pages.push(backend.read("t1", head - 1, 1));
        });

        const first = backend.commit(aCreation("t1"));
        expect(heads).toEqual([]);
        await first;
        await backend.commit(aStep("t1", { events: someEvents("more", 2) }));
        await backend.commit(aStep("t1", { epoch: 2 }));

        await expect.poll(() => heads, { timeout: 20_000 }).toEqual([1, 3, 3]);
        const last = { seq: 3, json: anEvent("more 1") };
        expect(await Promise.all(pages)).toMatchObject([
          [{ seq: 1, json: anEvent("t1 begins") }],
          [last],
          [last],
        ]);
      }),
    );

    test(
      "a refused step and a step of another task wake no watcher",
      using(open, async (backend) => {
        const heads: number[] = [];
        await backend.commit(aCreation("t1", { epoch: 5 }));
        backend.watch("t1", (head) => heads.push(head));

        await backend.commit(aStep("t1", { epoch: 4, events: [anEvent("stale")] }));
        await backend.commit(aCreation("t2"));
        await backend.commit(aStep("t1", { epoch: 5, events: [anEvent("good")] }));

        await expect.poll(() => heads, { timeout: 20_000 }).toEqual([2]);
      }),
    );

    test(
      "a watcher that is stopped is not called again, and other watchers are unaffected",
      using(open, async (backend) => {
        const left: number[] = [];
        const stayed: number[] = [];
        const wake = (head: number) => left.push(head);
        const stop = backend.watch("t1", wake);
        backend.watch("t1", (head) => stayed.push(head));
        await backend.commit(aCreation("t1"));
        await expect.poll(() => [left, stayed], { timeout: 20_000 }).toEqual([[1], [1]]);

        stop();
        stop();
        await backend.commit(aStep("t1", { events: [anEvent("second")] }));

        await expect.poll(() => stayed, { timeout: 20_000 }).toEqual([1, 2]);
        expect(left).toEqual([1]);
      }),
    );

    test(
      "a watcher may stop, or add another, while it is called",
      using(open, async (backend) => {
        const heard: string[] = [];
        const stop = backend.watch("t1", (head) => {
          heard.push(`first ${head}`);
          stop();
          backend.watch("t1", (later) => heard.push(`brought ${later}`));
        });
        backend.watch("t1", (head) => heard.push(`second ${head}`));

        await backend.commit(aCreation("t1"));
        await expect.poll(() => heard, { timeout: 20_000 }).toEqual(["first 1", "second 1"]);
        await backend.commit(aStep("t1", { events: [anEvent("more")] }));

        await expect
          .poll(() => heard, { timeout: 20_000 })
          .toEqual(["first 1", "second 1", "second 2", "brought 2"]);
      }),
    );

    test(
      "watching twice with the same function registers two watchers",
      using(open, async (backend) => {
        const heads: number[] = [];
        const wake = (head: number) => heads.push(head);
        const stop = backend.watch("t1", wake);
        backend.watch("t1", wake);
        await backend.commit(aCreation("t1"));
        await expect.poll(() => heads, { timeout: 20_000 }).toEqual([1, 1]);

        stop();
        await backend.commit(aStep("t1", { events: [anEvent("second")] }));

        await expect.poll(() => heads, { timeout: 20_000 }).toEqual([1, 1, 2]);
      }),
    );
  });
}
