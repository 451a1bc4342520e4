import { defineAgent } from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { randomUUID } from "node:crypto";
import { type Agent, userMessage } from "@convoke/protocol";
import {
  type StoredEvent,
  type Backend,
  type Engine,
  type PruneQuery,
  Retention,
  type RetentionOptions,
  acceptMessage,
  isSettled,
  listTasks,
  sendMessage,
  sendStreamingMessage,
  subscribeToTask,
} from "@convoke/engine";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Reader } from "../engine/a-reader.ts";
import { CALLER, anEngine, memoryLogger, tell } from "../engine/an-engine.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";

const DAY_MS = 24 * 60 * 60_000;

const agent = defineAgent({
  name: "Short",
  description: "Answers, or asks.",
  async *run({ text, ask }) {
    if (text === "ask") yield await ask("well?");
    yield "one ";
    yield "two";
  },
});

const BACKENDS: readonly [string, () => Promise<Backend>][] = [
  ["memory", async () => createMemoryBackend()],
  ["SQLite", () => openSqliteBackend({ folder: temporaryFolder(), durability: "process" })],
];

describe.each(BACKENDS)("in %s", (_name, open) => {
  verifies(
    ["R103", "R104", "loop-L9"],
    "the oldest ended tasks beyond the limit are pruned, unfinished ones never",
    async () => {
      const { engine, retention } = await aWorld(open, { maxTasks: 3, perCycle: 2 });
      const asking = await begin(engine, "ask");
      const ended: string[] = [];
      for (let count = 0; count < 8; count++) ended.push(await begin(engine, "go"));

      await retention.run();

      expect(await known(engine, ended)).toEqual(ended.slice(-3));
      expect(await known(engine, [asking])).toEqual([asking]);
    },
  );

  test("the limit is enforced automatically while tasks come and go", async () => {
    const { engine } = await aWorld(open, { maxTasks: 5, perCycle: 3 });
    const ended: string[] = [];
    for (let count = 0; count < 20; count++) ended.push(await begin(engine, "go"));

    await expect.poll(async () => (await known(engine, ended)).length).toBeLessThanOrEqual(7);
  });

  test("the tasks of an owner with an age of its own are pruned at that age, and at no other time", async () => {
    const owners = { ann: { maxAgeMs: DAY_MS }, eve: { maxAgeMs: 9 * DAY_MS } };
    const options = { maxAgeMs: 3 * DAY_MS, maxTasks: 1, owners };
    const { engine, retention, later } = await aWorld(open, options);
    const names = ["ann", "bob", "bob", "eve"];
    const ids: string[] = [];
    for (const owner of names) {
      const message = userMessage(randomUUID(), "go");
      const { live } = await acceptMessage(engine, { message, caller: { owner } });
      await live.until(isSettled);
      ids.push(live.task.id);
    }
    const left = async () => {
      await retention.run();
      const records = await Promise.all(ids.map((id) => engine.backend.tasks.record(id)));
      return records.flatMap((record) => record?.owner ?? []);
    };

    expect(await left()).toEqual(["ann", "eve"]);
    later(2 * DAY_MS);
    expect(await left()).toEqual(["eve"]);
    later(5 * DAY_MS);
    expect(await left()).toEqual(["eve"]);
    later(5 * DAY_MS);
    expect(await left()).toEqual([]);
  });

  test("the tasks of an agent with an age of its own are pruned at that age, except those of owners with one", async () => {
    const agents = { poet: { maxAgeMs: 9 * DAY_MS } };
    const owners = { eve: { maxAgeMs: DAY_MS } };
    const options = { maxAgeMs: 3 * DAY_MS, maxTasks: 1, owners, agents };
    const poet = defineAgent({ id: "poet", name: "Poet", description: "Writes.", run: () => "A" });
    const { engine, retention, later } = await aWorld(open, options, [agent, poet]);
    const ids: string[] = [];
    for (const [name, owner] of [
      ["poet", "ann"],
      ["poet", "eve"],
      ["other", "ann"],
      ["other", "bob"],
    ] as const) {
      const message = userMessage(randomUUID(), "go");
      const served = [...engine.agents].find(({ id }) => (id === "poet") === (name === "poet"))!;
      const { live } = await acceptMessage(engine, { message, caller: { owner }, agent: served });
      await live.until(isSettled);
      ids.push(live.task.id);
    }
    const left = async () => {
      await retention.run();
      const records = await Promise.all(ids.map((id) => engine.backend.tasks.record(id)));
      return records.flatMap((record, place) => (record === undefined ? [] : [place]));
    };

    expect(await left()).toEqual([0, 1, 3]);
    later(2 * DAY_MS);
    expect(await left()).toEqual([0, 3]);
    later(5 * DAY_MS);
    expect(await left()).toEqual([0]);
    later(5 * DAY_MS);
    expect(await left()).toEqual([]);
  });

  test("tasks that are kept longer are looked at once an hour, and others go in time", async () => {
    const agents = { short: { maxAgeMs: 9 * DAY_MS } };
    const other = defineAgent({ id: "other", name: "Other", description: "A", run: () => "A" });
    const { engine, retention, later } = await aWorld(open, { agents, maxAgeMs: DAY_MS }, [
      agent,
      other,
    ]);
    const kept = await begin(engine, "go");
    later(2 * DAY_MS);
    await retention.run();
    const prune = vi.spyOn(engine.backend.retention, "prune");
    const message = userMessage(randomUUID(), "go");
    const served = [...engine.agents][1];
    const { live } = await acceptMessage(engine, { message, caller: CALLER, agent: served });
    await live.until(isSettled);
    const endedBefore = engine.now() - DAY_MS;

    await retention.run();
    const [[query]] = prune.mock.calls as [[PruneQuery]];
    later(2 * DAY_MS);
    await retention.run();

    expect(query).toMatchObject({ exceptAgents: ["short"] });
    expect(query.endedFrom).toBeLessThanOrEqual(endedBefore);
    expect(await known(engine, [kept, live.task.id])).toEqual([kept]);
  });

  test("tasks are pruned when they are old", async () => {
    const { engine, retention, later } = await aWorld(open, { maxAgeMs: DAY_MS });
    const old = await begin(engine, "go");
    later(2 * DAY_MS);
    const young = await begin(engine, "go");

    await retention.run();

    expect(await known(engine, [old, young])).toEqual([young]);
  });

  verifies("R106", "tasks are listed, and kept for 30 days by default", async () => {
    const { engine, retention, later } = await aWorld(open, {});
    const ended = await begin(engine, "go");
    const listed = async (): Promise<readonly string[]> => {
      const page = await listTasks({ pageSize: 10, includeArtifacts: false }, aCall(engine));
      return page.tasks.map(({ id }) => id);
    };
    later(30 * DAY_MS - 60_000);
    await retention.run();
    expect(await listed()).toEqual([ended]);

    later(120_000);
    await retention.run();

    expect(await listed()).toEqual([]);
    expect(await known(engine, [ended])).toEqual([]);
  });

  verifies("G6", "a message whose task was pruned does not run again", async () => {
    const { engine, retention, later } = await aWorld(open, { maxAgeMs: DAY_MS });
    const message = userMessage("m1", "go");
    await sendMessage({ message, blocking: true }, aCall(engine));
    later(1.5 * DAY_MS);
    await begin(engine, "go");
    await retention.run();

    const again = sendMessage({ message, blocking: true }, aCall(engine));

    await expect(again).rejects.toMatchObject({ reason: "TaskNotFound" });
  });

  verifies(
    "seed-C29",
    "a compacted log keeps its task and its states, and a cursor into it gets the whole task, marked as a reset",
    async () => {
      const { engine, retention, later, backend } = await aWorld(open, { compactAfterMs: DAY_MS });
      const message = userMessage("m1", "go");
      const taskId = await begin(engine, "go", "m1");
      const before = (await engine.tasks.find(taskId, CALLER)).task;
      const whole = await backend.read(taskId, 0, 100);
      later(2 * DAY_MS);

      await retention.run();

      expect((await engine.tasks.find(taskId, CALLER)).task).toEqual(before);
      expect(await backend.read(taskId, 0, 100)).toEqual(whole.filter(isStatus));
      expect(whole.filter(isStatus).length).toBeGreaterThan(1);
      const expired = new Reader(
        await subscribeToTask({ taskId }, { ...aCall(engine), lastEventId: "2" }),
      );
      await expired.ended;
      expect(expired.frames.map(({ event }) => event)).toMatchObject([
        {
          kind: "task",
          id: taskId,
          metadata: { resumption: "reset" },
          artifacts: before.artifacts,
        },
      ]);
      const retried = new Reader(
        await sendStreamingMessage({ message, blocking: true }, { ...aCall(engine) }),
      );
      await retried.ended;
      expect(retried.frames.map(({ event }) => event)).toMatchObject([
        { kind: "task", id: taskId },
      ]);
      const atTheEnd = new Reader(
        await subscribeToTask(
          { taskId },
          { ...aCall(engine), lastEventId: String(whole.length - 1) },
        ),
      );
      await atTheEnd.ended;
      expect(atTheEnd.frames.map(({ event }) => event)).toMatchObject([
        { kind: "status-update", status: { state: "completed" } },
      ]);
    },
  );

  test("a log that is being read is not compacted", async () => {
    const { engine, retention, later, backend } = await aWorld(open, { compactAfterMs: DAY_MS });
    const taskId = await begin(engine, "go");
    const before = await backend.read(taskId, 0, 100);
    later(2 * DAY_MS);
    engine.openStreams.open({ taskId, owner: "ann" });

    await retention.run();
    expect(await backend.read(taskId, 0, 100)).toEqual(before);

    engine.openStreams.close({ taskId, owner: "ann" });
    await retention.run();
    expect(await backend.read(taskId, 0, 100)).toEqual(before.filter(isStatus));
  });

  verifies("G12", "a log with an undelivered push is neither compacted nor pruned", async () => {
    const { engine, retention, later, backend } = await aWorld(open, {
      compactAfterMs: DAY_MS,
      maxAgeMs: 2 * DAY_MS,
    });
    const taskId = await begin(engine, "go");
    await backend.pushes.put(taskId, { id: "p", config: "{}", cursor: 0 });
    const before = await backend.read(taskId, 0, 100);
    later(3 * DAY_MS);

    await retention.run();

    expect(await backend.read(taskId, 0, 100)).toEqual(before);
  });

  test("a dead letter keeps the log until it is replayed or discarded", async () => {
    const { engine, retention, later, backend } = await aWorld(open, {
      compactAfterMs: DAY_MS,
      maxAgeMs: 3 * DAY_MS,
    });
    const taskId = await begin(engine, "go");
    await backend.pushes.put(taskId, { id: "p", config: "{}", cursor: 0 });
    const dead = { taskId, id: "p", generation: 1, cursor: 0, state: "dead" } as const;
    await backend.pushes.progress({ ...dead, failure: { since: 1, problem: "down" } });
    const before = await backend.read(taskId, 0, 100);
    later(2 * DAY_MS);

    await retention.run();
    expect(await backend.read(taskId, 0, 100)).toEqual(before);

    later(2 * DAY_MS);
    await retention.run();
    expect(await known(engine, [taskId])).toEqual([]);
  });
});

test.each([
  [{ maxAgeMs: -1 }, "retention.maxAgeMs must be a number, 0 or more, not -1"],
  [{ perCycle: 0 }, "retention.perCycle must be a number, 1 or more, not 0"],
  [
    { owners: { ann: { maxAgeMs: NaN } } },
    'retention.owners["ann"].maxAgeMs must be a number, 0 or more, not NaN',
  ],
  [
    { agents: { poet: { maxAgeMs: -1 } } },
    'retention.agents["poet"].maxAgeMs must be a number, 0 or more, not -1',
  ],
])("an option that is not possible is rejected with its name: %j", (options, problem) => {
  const engine = anEngine(agent);
  onTestFinished(() => engine.close());
  expect(() => new Retention(engine, memoryLogger(), options)).toThrow(problem);
});

async function aWorld(
  open: () => Promise<Backend>,
  options: Partial<RetentionOptions>,
  agents: Agent | readonly Agent[] = agent,
) {
  let ahead = 0;
  const backend = await open();
  const engine = anEngine(agents, backend, { now: () => Date.now() + ahead });
  const retention = new Retention(engine, memoryLogger(), options);
  onTestFinished(async () => {
    engine.close();
    await retention.close();
    await backend.close();
  });
  const later = (ms: number): void => {
    ahead += ms;
  };
  return { backend, engine, retention, later };
}

async function begin(engine: Engine, text: string, messageId?: string): Promise<string> {
  const { live } = await tell(engine, text, messageId === undefined ? {} : { messageId });
  await live.until(isSettled);
  return live.task.id;
}

/** Those of the tasks that still exist. */
async function known(engine: Engine, taskIds: readonly string[]): Promise<readonly string[]> {
  const records = await Promise.all(taskIds.map((taskId) => engine.backend.tasks.get(taskId)));
  return taskIds.filter((_, place) => records[place] !== undefined);
}

function aCall(engine: Engine) {
  return {
    engine,
    agent: engine.agents.first,
    caller: CALLER,
    version: "0.3",
    trace: undefined,
    lastEventId: undefined,
  } as const;
}

function isStatus({ json }: StoredEvent): boolean {
  return (JSON.parse(json) as { readonly kind: string }).kind === "status-update";
}
