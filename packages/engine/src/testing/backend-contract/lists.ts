import { TASK_STATES, isTerminal } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import type { Backend, CreationPosition, TaskQuery, TaskRecord } from "../../log/backend.ts";
import { type OpenBackend, aCreation, aStep, anEvent, using } from "./fixtures.ts";

/** Lists are ordered, filtered, limited to their owner, and paged without loss. */
export function describeLists(open: OpenBackend): void {
  describe("lists", () => {
    test(
      "tasks are ordered by status time, then by id, both descending",
      using(open, async (backend) => {
        await fill(backend, [
          ["t1", 10],
          ["t3", 20],
          ["t2", 20],
          ["t4", 5],
        ]);
        expect(await list(backend, {})).toEqual(["t3", "t2", "t1", "t4"]);

        await backend.commit(aStep("t4", { statusAt: 30 }));

        expect(await list(backend, {})).toEqual(["t4", "t3", "t2", "t1"]);
      }),
    );

    test(
      "every list returns complete records without their snapshots",
      using(open, async (backend) => {
        const snapshot = { seq: 1, json: "{}" };
        const before = {
          owner: "ann",
          contextId: "context",
          before: { createdAt: 1_000, taskId: "t9" },
          limit: 10,
        };
        await backend.commit(
          aCreation("t1", { snapshot, statusAt: 20, wakeAt: 5 }, { createdAt: 1 }),
        );
        await backend.commit(aStep("t1", { events: [anEvent("more")], statusAt: 30 }));
        const { snapshot: stored, ...record } = (await backend.tasks.get("t1"))!;

        const { records } = await backend.tasks.list({ owner: "ann", limit: 10 });

        expect(stored).toEqual(snapshot);
        expect(record).toMatchObject({ head: 2, wakeAt: 5 });
        expect(records).toEqual([record]);
        expect(await backend.tasks.ofContext(before)).toEqual([record]);
        expect(await backend.tasks.changedSince({ owner: "ann", at: 29 })).toEqual([record]);
        expect(await backend.tasks.unfinished("", 10)).toEqual([record]);
        expect(await backend.tasks.waking(10)).toEqual([record]);
      }),
    );

    test(
      "filters apply to the page and to the total",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1", { statusAt: 10 }, { contextId: "c1" }));
        await backend.commit(
          aCreation("t2", { statusAt: 20, state: "working" }, { contextId: "c1" }),
        );
        await backend.commit(
          aCreation("t3", { statusAt: 30, state: "working" }, { contextId: "c2" }),
        );
        await backend.commit(
          aCreation("t4", { statusAt: 40, state: "completed" }, { contextId: "c2" }),
        );

        expect(await list(backend, { contextId: "c1" })).toEqual(["t2", "t1"]);
        expect(await list(backend, { state: "working" })).toEqual(["t3", "t2"]);
        expect(await list(backend, { since: 30 })).toEqual(["t4", "t3"]);
        expect(await list(backend, { contextId: "c2", state: "working", since: 30 })).toEqual([
          "t3",
        ]);
        expect(await list(backend, { contextId: "c1", since: 20 })).toEqual(["t2"]);
        expect(await list(backend, { until: 20 })).toEqual(["t2", "t1"]);
        expect(await list(backend, { since: 20, until: 30 })).toEqual(["t3", "t2"]);
        expect(await list(backend, { state: "working", until: 29 })).toEqual(["t2"]);
        expect(await list(backend, { contextId: "c2", until: 39 })).toEqual(["t3"]);
        expect(await list(backend, { until: 9 })).toEqual([]);
        expect(await list(backend, { state: "failed" })).toEqual([]);
        expect(await list(backend, { contextId: "none" })).toEqual([]);
      }),
    );

    test(
      "pages of any size return every task exactly once, with every filter",
      using(open, async (backend) => {
        const states = TASK_STATES;
        for (let index = 0; index < 60; index += 1) {
          const overrides = { state: states[index % states.length]!, statusAt: (index * 7) % 13 };
          await backend.commit(
            aCreation(`t${String(index).padStart(2, "0")}`, overrides, {
              contextId: `c${index % 3}`,
            }),
          );
        }

        for (const filter of [
          {},
          { contextId: "c1" },
          { state: "working" as const },
          { since: 6 },
          { until: 6 },
          { since: 2, until: 9 },
          { state: "working" as const, until: 8 },
          { contextId: "c1", until: 8 },
          { contextId: "c2", since: 3 },
          { contextId: "c0", state: "submitted" as const },
        ]) {
          const whole = await backend.tasks.list({ owner: "ann", limit: 100, ...filter });
          const wanted = whole.records.toSorted(
            (left, right) =>
              right.statusAt - left.statusAt || (left.taskId < right.taskId ? 1 : -1),
          );
          expect(whole.records).toEqual(wanted);
          const { until: _, ...unbounded } = filter as { until?: number };
          const all = await backend.tasks.list({ owner: "ann", limit: 100, ...unbounded });
          expect(whole.total).toBe(all.records.length);
          for (const limit of [1, 2, 7]) {
            expect(await walk(backend, { owner: "ann", limit, ...filter })).toEqual(whole.records);
          }
        }
        expect((await backend.tasks.list({ owner: "ann", limit: 100 })).total).toBe(60);
      }),
    );

    test(
      "a list contains neither another owner's tasks nor unlisted ones",
      using(open, async (backend) => {
        await backend.commit(aCreation("t1"));
        await backend.commit(aCreation("t2", {}, { owner: "bob" }));
        await backend.commit(aCreation("t3", { listed: false }));
        const context = {
          contextId: "context",
          before: { createdAt: 1_000, taskId: "t9" },
          limit: 10,
        };

        expect(await list(backend, {})).toEqual(["t1"]);
        expect(await list(backend, { contextId: "context", state: "submitted" })).toEqual(["t1"]);
        expect(ids(await backend.tasks.ofContext({ owner: "ann", ...context }))).toEqual(["t1"]);
        expect(ids(await backend.tasks.ofContext({ owner: "eve", ...context }))).toEqual([]);
        await backend.commit(aStep("t3", { listed: true }));
        await backend.commit(aStep("t1", { listed: false }));
        expect(await list(backend, {})).toEqual(["t3"]);
        expect(ids(await backend.tasks.ofContext({ owner: "ann", ...context }))).toEqual(["t3"]);
      }),
    );

    test(
      "the earlier tasks of a context are ordered newest first, regardless of their ids",
      using(open, async (backend) => {
        const createdAt = { last: 40, early: 10, "mid-b": 20, "mid-a": 20 };
        for (const [taskId, at] of Object.entries(createdAt)) {
          const task = { contextId: "c1", createdAt: at };
          await backend.commit(aCreation(taskId, { state: "completed" }, task));
        }
        await backend.commit(aCreation("a", {}, { contextId: "c2", createdAt: 5 }));
        const earlier = async (before: CreationPosition, limit = 10) =>
          ids(await backend.tasks.ofContext({ owner: "ann", contextId: "c1", before, limit }));

        const last = { createdAt: 40, taskId: "last" };
        expect(await earlier(last)).toEqual(["mid-b", "mid-a", "early"]);
        expect(await earlier(last, 2)).toEqual(["mid-b", "mid-a"]);
        expect(await earlier({ createdAt: 20, taskId: "mid-b" })).toEqual(["mid-a", "early"]);
        expect(await earlier({ createdAt: 10, taskId: "early" })).toEqual([]);
      }),
    );

    test(
      "changedSince returns tasks that existed at the given time and changed their status after it",
      using(open, async (backend) => {
        const at = 100;
        const tasks = [
          ["was there and changed", { statusAt: 101 }, { createdAt: 100 }],
          ["was there and ended", { statusAt: 200, state: "failed" }, { createdAt: 1 }],
          ["changed in another context", { statusAt: 150 }, { createdAt: 1, contextId: "c2" }],
          ["did not change", { statusAt: 100 }, { createdAt: 1 }],
          ["came later", { statusAt: 150 }, { createdAt: 101 }],
          ["is not listed", { statusAt: 150, listed: false }, { createdAt: 1 }],
          ["is another's", { statusAt: 150 }, { createdAt: 1, owner: "bob" }],
        ] as const;
        for (const [taskId, overrides, task] of tasks)
          await backend.commit(aCreation(taskId, overrides, { contextId: "c1", ...task }));

        const changed = await backend.tasks.changedSince({ owner: "ann", at });
        const inContext = await backend.tasks.changedSince({ owner: "ann", contextId: "c1", at });

        expect(ids(changed).toSorted()).toEqual([
          "changed in another context",
          "was there and changed",
          "was there and ended",
        ]);
        expect(ids(inContext).toSorted()).toEqual(["was there and changed", "was there and ended"]);
        for (const record of changed)
          expect(record).toEqual(await backend.tasks.get(record.taskId));
        expect(await backend.tasks.changedSince({ owner: "eve", at })).toEqual([]);
      }),
    );

    test(
      "the tasks of all owners are paged by id, the highest first, all of them or the unfinished ones",
      using(open, async (backend) => {
        for (const [index, state] of TASK_STATES.entries()) {
          await backend.commit(
            aCreation(`t${index}`, { state, listed: index % 2 === 0 }, { owner: `owner ${index}` }),
          );
        }
        const all = TASK_STATES.map((_, index) => `t${index}`).toReversed();
        const unfinished = all.filter((_, index) => !isTerminal(TASK_STATES.toReversed()[index]!));

        for (const limit of [1, 4, 100]) {
          for (const isUnfinished of [false, true]) {
            const walked: TaskRecord[] = [];
            for (let page: readonly TaskRecord[] = []; ;) {
              const last = page.at(-1);
              const before = last === undefined ? {} : { before: last.taskId };
              page = await backend.tasks.newest({ limit, isUnfinished, ...before });
              expect(page.length).toBeLessThanOrEqual(limit);
              if (page.length === 0) break;
              walked.push(...page);
            }
            expect(ids(walked)).toEqual(isUnfinished ? unfinished : all);
            expect(walked.map(({ owner }) => owner)).toEqual(
              ids(walked).map((id) => id.replace("t", "owner ")),
            );
          }
        }
      }),
    );

    test(
      "the unfinished tasks of all owners are ordered by id",
      using(open, async (backend) => {
        for (const [index, state] of TASK_STATES.entries()) {
          await backend.commit(
            aCreation(`t${index}`, { state, listed: index % 2 === 0 }, { owner: `owner ${index}` }),
          );
        }
        await backend.commit(aCreation("t95"));
        await backend.commit(aStep("t95", { state: "canceled" }));
        const wanted = TASK_STATES.flatMap((state, index) =>
          isTerminal(state) ? [] : [`t${index}`],
        );

        for (const limit of [1, 2, 100]) {
          const walked: string[] = [];
          for (let after = ""; ; after = walked.at(-1)!) {
            const page = await backend.tasks.unfinished(after, limit);
            expect(page.length).toBeLessThanOrEqual(limit);
            if (page.length === 0) break;
            walked.push(...ids(page));
          }
          expect(walked).toEqual(wanted);
        }
      }),
    );
  });
}

async function fill(
  backend: Backend,
  tasks: readonly (readonly [taskId: string, statusAt: number])[],
): Promise<void> {
  for (const [taskId, statusAt] of tasks) await backend.commit(aCreation(taskId, { statusAt }));
}

/** The ids on ann's first page. Asserts that the total agrees. */
async function list(backend: Backend, filter: Partial<TaskQuery>): Promise<readonly string[]> {
  const { records, total } = await backend.tasks.list({ owner: "ann", limit: 100, ...filter });
  const { until: _, ...unbounded } = filter;
  const all = await backend.tasks.list({ owner: "ann", limit: 100, ...unbounded });
  expect(total).toBe(all.records.length);
  return ids(records);
}

/** All records, page by page, as a caller that follows page tokens receives them. */
async function walk(backend: Backend, query: TaskQuery): Promise<readonly TaskRecord[]> {
  const walked: TaskRecord[] = [];
  for (let page = await backend.tasks.list(query); page.records.length > 0;) {
    expect(page.records.length).toBeLessThanOrEqual(query.limit);
    walked.push(...page.records);
    expect(walked.length, "no task comes twice").toBeLessThanOrEqual(page.total);
    const { statusAt, taskId } = page.records.at(-1)!;
    page = await backend.tasks.list({ ...query, after: { statusAt, taskId } });
  }
  return walked;
}

function ids(records: readonly TaskRecord[]): readonly string[] {
  return records.map(({ taskId }) => taskId);
}
