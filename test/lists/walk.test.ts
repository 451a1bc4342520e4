import { defineAgent } from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type ListTasksRequest, type Task, isTerminal } from "@convoke/protocol";
import { type Backend, type Engine, listTasks } from "@convoke/engine";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CALLER, anEngine, tell } from "../engine/an-engine.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

/** Asks twice, so that each task changes its status four times after it has started. */
const agent = defineAgent({
  name: "Curious",
  description: "Asks twice.",
  run: async ({ ask }) => `${await ask("one?")} ${await ask("two?")}`,
});

const BACKENDS: readonly [string, () => Promise<Backend>][] = [
  ["memory", async () => createMemoryBackend()],
  ["SQLite", () => openSqliteBackend({ folder: temporaryFolder(), durability: "process" })],
];

describe.each(BACKENDS)("paging through a list in %s", (_name, open) => {
  verifies("v1-S22", "returns every task exactly once, despite concurrent changes", async () => {
    const backend = await open();
    const engine = anEngine(agent, backend);
    const begun: string[] = [];
    const begin = async (): Promise<void> => void begun.push(await waiting(engine));
    for (let count = 0; count < 12; count++) await begin();

    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 7 }),
        fc.array(happening),
        async (size, events) => {
          const before = new Set(begun);
          const seen: string[] = [];
          let pageToken: string | undefined;
          let place = 0;
          do {
            const page = await listTasks(aRequest(size, pageToken), aCall(engine));
            seen.push(...page.tasks.map(({ id }) => id));
            pageToken = page.nextPageToken || undefined;
            for (const event of events.slice(place, (place += 3))) {
              if (event === "begin") await begin();
              else await answer(engine, begun[event % begun.length] ?? "");
            }
          } while (pageToken !== undefined);

          expect(seen).toHaveLength(new Set(seen).size);
          expect(seen.filter((id) => before.has(id)).toSorted()).toEqual([...before].toSorted());
          // Tasks that started in the meantime belong to the next listing.
          expect(seen).toHaveLength(before.size);
        },
      ),
      { numRuns: 25 },
    );
    engine.close();
    await backend.close();
  });

  test("keeps the order of the moment it started", async () => {
    const backend = await open();
    const engine = anEngine(agent, backend);
    for (let count = 0; count < 5; count++) await waiting(engine);
    const whole = await listTasks(aRequest(10), aCall(engine));
    const ids = whole.tasks.map(({ id }) => id);
    const first = await listTasks(aRequest(2), aCall(engine));

    await answer(engine, ids.at(-1) ?? "");
    const second = await listTasks(aRequest(2, first.nextPageToken), aCall(engine));
    const third = await listTasks(aRequest(2, second.nextPageToken), aCall(engine));

    const shown = [first, second, third].flatMap(({ tasks }) => tasks.map(({ id }) => id));
    expect(shown).toEqual(ids);
    expect(third.nextPageToken).toBe("");
    engine.close();
    await backend.close();
  });

  test("also limits a page by bytes, and still returns every task once", async () => {
    const backend = await open();
    const engine = anEngine(agent, backend, { limits: { pageBytes: 5000 } });
    for (const length of [3000, 10, 9000, 10, 10, 10]) await waiting(engine, "x".repeat(length));
    const sizes: number[] = [];
    let pageToken: string | undefined;
    do {
      const page = await listTasks(aRequest(4, pageToken), aCall(engine));
      expect(page).toMatchObject({ totalSize: 6, pageSize: 4 });
      sizes.push(page.tasks.length);
      pageToken = page.nextPageToken || undefined;
    } while (pageToken !== undefined);

    const short = await listTasks({ ...aRequest(10), historyLength: 0 }, aCall(engine));

    // The newest come first; a task larger than a page is alone on one.
    expect(sizes).toEqual([3, 1, 2]);
    expect(short.tasks).toHaveLength(6);
    engine.close();
    await backend.close();
  });

  test("returns a task that was written while the clock was ahead", async () => {
    const backend = await open();
    let ahead = 3_600_000;
    const engine = anEngine(agent, backend, { now: () => Date.now() + ahead });
    const id = await waiting(engine);

    ahead = 0;
    const { tasks } = await listTasks(aRequest(10), aCall(engine));

    expect(tasks.map((task) => task.id)).toEqual([id]);
    engine.close();
    await backend.close();
  });

  test("ends with a page without a token, even if that page is full", async () => {
    const backend = await open();
    const engine = anEngine(agent, backend);
    await waiting(engine);
    await waiting(engine);

    const page = await listTasks(aRequest(2), aCall(engine));

    expect(page).toMatchObject({ nextPageToken: "", totalSize: 2, pageSize: 2 });
    engine.close();
    await backend.close();
  });

  test("rejects a token that no page returned", async () => {
    const backend = await open();
    const engine = anEngine(agent, backend);

    await expect(listTasks(aRequest(2, "next"), aCall(engine))).rejects.toMatchObject({
      reason: "InvalidParams",
      field: "pageToken",
    });
    engine.close();
    await backend.close();
  });
});

/** Another task starts, or one of the tasks gets an answer. */
const happening = fc.oneof(fc.constant("begin" as const), fc.nat(100));

function aRequest(pageSize: number, pageToken?: string): ListTasksRequest {
  return { pageSize, includeArtifacts: false, ...(pageToken !== undefined && { pageToken }) };
}

function aCall(engine: Engine) {
  return {
    engine,
    agent: engine.agents.first,
    caller: CALLER,
    version: "1.0",
    trace: undefined,
    lastEventId: undefined,
  } as const;
}

/** Starts a task, and waits until it asks. */
async function waiting(engine: Engine, text = "go"): Promise<string> {
  const { live } = await tell(engine, text);
  await live.until(({ task }) => asks(task));
  return live.task.id;
}

/** Answers a task's question, if it still has one, and waits for the result. */
async function answer(engine: Engine, taskId: string): Promise<void> {
  const { task } = await engine.tasks.find(taskId, CALLER);
  if (!asks(task)) return;
  const { live } = await tell(engine, "well", { taskId });
  await live.until(({ task: next }) => isTerminal(next.status.state) || asks(next));
}

function asks({ status }: Task): boolean {
  return status.state === "input-required";
}
