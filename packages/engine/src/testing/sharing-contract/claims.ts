import { describe, expect, test } from "vitest";
import { aStep, anEvent, wholeLog } from "../backend-contract/fixtures.ts";
import { AGENT, type OpenStorage, aRun, claimAll, idsOf, sharing } from "./shared-storage.ts";

/** Each task that an agent works on belongs to one process. */
export function describeClaims(open: OpenStorage): void {
  describe("claims", () => {
    test(
      "the tasks of a process that is gone are claimed once, by processes that do not get the same ones",
      sharing(open, async ({ a, b, c }, storage) => {
        const all = Array.from({ length: 20 }, (_, index) => `t${String(index).padStart(2, "0")}`);
        await Promise.all(all.map((taskId) => a.commit(aRun(taskId))));
        expect(await claimAll(b)).toEqual([]);

        const self = (await a.sharing.replicas()).find(({ isSelf }) => isSelf);
        await storage.expire(a);
        const claims = await Promise.all(
          [b, c, b, c, b, c].map((backend) => claimAll(backend, { limit: 4 })),
        );

        const claimed = claims.flat();
        expect(claims.every(({ length }) => length <= 4)).toBe(true);
        expect(idsOf([...claimed, ...(await claimAll(c))])).toEqual(all);
        expect(await claimAll(b)).toEqual([]);
        expect(claimed[0]).toMatchObject({
          reason: "gone",
          lost: self?.id,
          epoch: 2,
          head: 1,
          state: "working",
        });
        expect(await b.tasks.get(all[0]!)).toMatchObject({ epoch: 2 });
      }),
    );

    test(
      "only unfinished tasks of the given agents that a process works on are claimed",
      sharing(open, async ({ a, b }, storage) => {
        await a.commit(aRun("runs"));
        await a.commit(aRun("asks"));
        await a.commit(aStep("asks", { state: "input-required", running: false }));
        await a.commit(aRun("ends"));
        await a.commit(aStep("ends", { state: "completed", events: [anEvent("end")] }));
        await a.commit(aRun("ends at once", { state: "completed" }));
        await a.commit(aRun("asks at once", { state: "input-required", running: false }));
        await a.commit(aRun("waits", { running: false }));
        await a.commit({
          ...aRun("other"),
          create: { owner: "ann", contextId: "c", agent: "Poet", agentId: "poet", createdAt: 1 },
        });

        await storage.expire(a);

        expect(idsOf(await claimAll(b))).toEqual(["runs"]);
        const query = { agentIds: [AGENT, "poet"], dueAt: 0, limit: 9 };
        expect(idsOf(await b.sharing.claim(query))).toEqual(["other"]);
      }),
    );

    test(
      "a released task is claimed at once, and not by the process that gave it up twice",
      sharing(open, async ({ a, b }) => {
        await a.commit(aRun("t1"));
        await a.commit(aRun("t2"));

        await a.sharing.release(["t1"]);

        expect(await claimAll(b)).toMatchObject([{ taskId: "t1", reason: "released", epoch: 2 }]);
        await a.sharing.release(["t1"]);
        expect(await claimAll(a)).toEqual([]);
      }),
    );

    test(
      "a process claims a task of its own again that it does not work on, and no other one does",
      sharing(open, async ({ a, b }) => {
        await a.commit(aRun("t1"));
        await a.commit(aRun("t2"));
        const query = { agentIds: [AGENT], dueAt: 0, limit: 9, abandoned: ["t1", "unknown"] };

        expect(await b.sharing.ownTasks()).toEqual([]);
        expect(await a.sharing.ownTasks()).toEqual(["t1", "t2"]);
        expect(await b.sharing.claim(query)).toEqual([]);
        expect(await a.sharing.claim(query)).toMatchObject([
          { taskId: "t1", reason: "released", epoch: 2 },
        ]);
        expect(await claimAll(a)).toEqual([]);
      }),
    );

    test(
      "what a process has when it is closed is claimed at once",
      sharing(open, async ({ a, b }) => {
        await a.commit(aRun("t1"));

        await a.close();

        expect(await claimAll(b)).toMatchObject([{ taskId: "t1", reason: "released" }]);
      }),
    );

    test(
      "a waiting task is claimed once it is due, and one that a process works on is not",
      sharing(open, async ({ a, b, c }) => {
        await a.commit(aRun("t1", { running: false, wakeAt: 100 }));
        await a.commit(aRun("t2", { running: false, wakeAt: 200 }));
        await a.commit(aRun("t3", { wakeAt: 50 }));

        expect(await claimAll(b, { dueAt: 99 })).toEqual([]);
        const claims = await Promise.all([
          claimAll(b, { dueAt: 100 }),
          claimAll(c, { dueAt: 100 }),
        ]);

        expect(claims.flat()).toMatchObject([{ taskId: "t1", reason: "due", wakeAt: 100 }]);
        expect(idsOf(await claimAll(c, { dueAt: 300 }))).toEqual(["t2"]);
      }),
    );

    test(
      "one task can be claimed unless it has ended or a process that lives works on it",
      sharing(open, async ({ a, b, c }, storage) => {
        await a.commit(aRun("t1"));
        await a.commit(aRun("waits", { running: false }));
        await a.commit(aRun("done", { state: "completed" }));

        expect(await b.sharing.claimTask("t1")).toBeUndefined();
        expect(await b.sharing.claimTask("done")).toBeUndefined();
        expect(await b.sharing.claimTask("unknown")).toBeUndefined();
        const claims = await Promise.all([b, c].map((one) => one.sharing.claimTask("waits")));
        expect(claims.filter((claimed) => claimed !== undefined)).toMatchObject([
          { taskId: "waits", reason: "due", epoch: 2 },
        ]);
        await storage.expire(a);
        expect(await c.sharing.claimTask("t1")).toMatchObject({ reason: "gone", epoch: 2 });
      }),
    );

    test(
      "a commit of a process that was taken for gone is stale and writes nothing",
      sharing(open, async ({ a, b }, storage) => {
        await a.commit(aRun("t1"));
        await storage.expire(a);
        expect(a.sharing.isHeld()).toBe(false);
        const [claimed] = await claimAll(b);
        const { head, epoch } = claimed!;
        const attempt = { epoch, events: [anEvent("attempt")], running: true };
        await b.commit(aStep("t1", { after: { head, epoch }, ...attempt }));

        const late = await a.commit(
          aStep("t1", { after: { head: 1, epoch: 1 }, events: [anEvent("late")] }),
        );

        expect(late).toEqual({ kind: "stale", epoch: 2, head: 2 });
        expect(await wholeLog(b, "t1")).toEqual([anEvent("t1 begins"), anEvent("attempt")]);
      }),
    );

    test(
      "each event has the epoch of its step, if steps are written together and if the log is compacted",
      sharing(open, async ({ a, b }) => {
        await a.commit(aRun("t1"));
        await Promise.all([
          a.commit(aStep("t1", { events: [anEvent("two")] })),
          a.commit(aStep("t1", { epoch: 5, events: [anEvent("three")], state: "completed" })),
        ]);
        const epochs = async () => (await b.read("t1", 0, 9)).map(({ seq, epoch }) => [seq, epoch]);

        expect(await epochs()).toEqual([
          [1, 1],
          [2, 1],
          [3, 5],
        ]);
        await a.retention.compact("t1", { seq: 3, json: "{}" }, [2]);
        expect(await epochs()).toEqual([
          [2, 1],
          [3, 5],
        ]);
      }),
    );

    test(
      "a step is not taken for a repetition of the same events of another process",
      sharing(open, async ({ a, b }) => {
        await a.commit(aRun("t1", { running: false, wakeAt: 1 }));
        const [claimed] = await claimAll(b, { dueAt: 1 });
        const woken = { events: [anEvent("woken")], running: true };
        const { epoch } = claimed!;
        await b.commit(aStep("t1", { after: { head: 1, epoch }, epoch, ...woken }));

        const late = await a.commit(aStep("t1", { after: { head: 1, epoch: 1 }, ...woken }));

        expect(late).toEqual({ kind: "stale", epoch: 2, head: 2 });
      }),
    );

    test(
      "of two processes that receive an answer one continues the task",
      sharing(open, async ({ a, b, c }) => {
        await a.commit(aRun("t1", { state: "input-required", running: false }));
        const answer = (text: string) =>
          aStep("t1", {
            after: { head: 1, epoch: 1 },
            epoch: 2,
            events: [anEvent(text)],
            running: true,
          });

        const results = await Promise.all([b.commit(answer("yes")), c.commit(answer("no"))]);

        expect(results.map(({ kind }) => kind).toSorted()).toEqual(["committed", "stale"]);
        expect(await wholeLog(a, "t1")).toHaveLength(2);
      }),
    );

    test(
      "the processes are listed with their tasks and leases",
      sharing(open, async ({ a, b }, storage) => {
        await a.commit(aRun("t1"));
        await storage.expire(a);

        const replicas = await b.sharing.replicas();

        expect(replicas).toHaveLength(3);
        expect(replicas.filter(({ isSelf }) => isSelf)).toMatchObject([{ running: 0 }]);
        const gone = replicas.filter(({ leaseMs }) => leaseMs <= 0);
        expect(gone).toMatchObject([{ running: 1, isSelf: false }]);
      }),
    );

    test(
      "each push endpoint is delivered to by one process, and by another one when that is gone",
      sharing(open, async ({ a, b }, storage) => {
        const hooks = ["one", "two", "three"].map((name) => `https://hooks.example/${name}`);
        for (const [index, url] of hooks.entries()) {
          const config = JSON.stringify({ url: `${url}?task=${index}` });
          await a.commit(aRun(`t${index}`, { push: { id: "p", config, cursor: 0 } }));
        }

        const claims = await Promise.all([
          a.sharing.claimEndpoints(2),
          b.sharing.claimEndpoints(2),
        ]);

        expect(new Set(claims.flat()).size).toBe(claims.flat().length);
        const rest = await b.sharing.claimEndpoints(3);
        expect([...(await a.sharing.claimEndpoints(2)), ...rest].toSorted()).toEqual(
          hooks.toSorted(),
        );
        await storage.expire(a);
        expect((await b.sharing.claimEndpoints(9)).toSorted()).toEqual(hooks.toSorted());
      }),
    );
  });
}
