import { defineAgent } from "convoke";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { createMemoryBackend } from "@convoke/engine/memory";
import { textOf } from "@convoke/protocol";
import { type Engine, getTask, isSettled, listTasks, subscribeToTask } from "@convoke/engine";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { CALLER, anEngine, tell } from "./an-engine.ts";
import { Reader } from "./a-reader.ts";
import { wrapBackend } from "./wrapped-backend.ts";

const CALL = { caller: CALLER, version: "1.0", trace: undefined, lastEventId: undefined } as const;

/** An agent that emits one event each time the test lets it. */
function aStepwiseAgent() {
  const steps: PromiseWithResolvers<string>[] = [];
  const step = (place: number) => (steps[place] ??= Promise.withResolvers<string>());
  const agent = defineAgent({
    name: "Stepwise",
    description: "Says what it is told to say, when it is told.",
    async *run() {
      for (let place = 0; ; place++) {
        const text = await step(place).promise;
        if (text === "") return;
        yield text;
      }
    },
  });
  let said = 0;
  return { agent, say: (text: string) => step(said++).resolve(text) };
}

/** Lets all pending work run: in turns of the event loop, which a busy machine cannot skip like time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
}

const textNow = async (engine: Engine, taskId: string) =>
  textOf(await getTask({ taskId }, { engine, agent: engine.agents.first, ...CALL }));

describe("a commit that is held back", () => {
  verifies(
    "G1",
    "is not visible in a snapshot, a list, a stream or a new subscription",
    async () => {
      const { agent, say } = aStepwiseAgent();
      const backend = wrapBackend(createMemoryBackend());
      const engine = anEngine(agent, backend);
      const { live } = await tell(engine, "go");
      const taskId = live.task.id;
      say("first");
      await live.until(({ task }) => textOf(task) === "first");
      const watching = new Reader(
        await subscribeToTask({ taskId }, { engine, agent: engine.agents.first, ...CALL }),
      );

      backend.hold();
      say(" second");
      await settle();
      const late = new Reader(
        await subscribeToTask({ taskId }, { engine, agent: engine.agents.first, ...CALL }),
      );
      await settle();
      const listed = await listTasks(
        { pageSize: 10, includeArtifacts: true },
        { engine, agent: engine.agents.first, ...CALL },
      );

      expect(backend.steps.at(-1)?.events.join("")).toContain(" second");
      expect(await textNow(engine, taskId)).toBe("first");
      expect(listed.tasks.map(textOf)).toEqual(["first"]);
      expect(textOf(watching.fold())).toBe("first");
      expect(textOf(late.fold())).toBe("first");

      backend.release();
      await settle();

      expect(await textNow(engine, taskId)).toBe("first second");
      expect(textOf(watching.fold())).toBe("first second");
      expect(textOf(late.fold())).toBe("first second");
      engine.close();
    },
  );

  test("stops the agent after 1024 events", async () => {
    let pulled = 0;
    const agent = defineAgent({
      name: "Endless",
      description: "Never stops talking.",
      async *run({ signal }) {
        for (; !signal.aborted; pulled++) yield "word ";
      },
    });
    const backend = wrapBackend(createMemoryBackend());
    const engine = anEngine(agent, backend);
    const { live } = await tell(engine, "go");
    await live.until(({ task }) => textOf(task) !== "");

    backend.hold();
    await settle();
    const before = pulled;
    await settle();

    expect(pulled).toBe(before);
    expect(backend.steps.at(-1)?.events.length).toBeLessThanOrEqual(1025);
    engine.close();
    backend.release();
  });
});

describe("a storage failure", () => {
  test("rejects the message after a second attempt, and the retry creates the task", async () => {
    const { agent } = aStepwiseAgent();
    const backend = wrapBackend(createMemoryBackend());
    const engine = anEngine(agent, backend);
    backend.failNext(2);

    await expect(tell(engine, "go", { messageId: "m1" })).rejects.toThrow("disk I/O error");
    const { live } = await tell(engine, "go", { messageId: "m1" });

    expect(live.task.status.state).toBe("working");
    const { totalSize } = await listTasks(
      { pageSize: 10, includeArtifacts: false },
      { engine, agent: engine.agents.first, ...CALL },
    );
    expect(totalSize).toBe(1);
    engine.close();
  });

  verifies("G1", "does not lose what an agent emits in the meantime", async () => {
    const { agent, say } = aStepwiseAgent();
    const backend = wrapBackend(createMemoryBackend());
    const engine = anEngine(agent, backend);
    const { live } = await tell(engine, "go");

    backend.failNext(2);
    say("kept");
    say("");
    await live.until(isSettled);

    expect(live.task.status.state).toBe("completed");
    expect(textOf(live.task)).toBe("kept");
    engine.close();
  });

  test("that is reported after the write does not write twice", async () => {
    const { agent, say } = aStepwiseAgent();
    const memory = createMemoryBackend();
    let failOnce = false;
    const backend = {
      ...wrapBackend(memory),
      commit: async (step: Parameters<typeof memory.commit>[0]) => {
        const committed = await memory.commit(step);
        if (!failOnce) return committed;
        failOnce = false;
        throw new Error("the answer was lost");
      },
    };
    const engine = anEngine(agent, backend);
    const { live } = await tell(engine, "go");

    failOnce = true;
    say("once");
    say("");
    await live.until(isSettled);

    const stored = await memory.read(live.task.id, 0, 100);
    expect(stored.filter(({ json }) => json.includes("once"))).toHaveLength(1);
    expect(textOf(live.task)).toBe("once");
    engine.close();
  });
});

test("an agent does not begin with a message that is stored while the server stops", async () => {
  let runs = 0;
  const agent = defineAgent({ name: "Eager", description: "Runs.", run: () => `${++runs}` });
  const backend = createMemoryBackend();
  const engine = anEngine(agent, backend);

  const told = tell(engine, "go");
  engine.close();
  const { live } = await told;

  expect(runs).toBe(0);
  expect(await backend.tasks.record(live.task.id)).toMatchObject({ state: "working" });
});

describe.each([
  ["in memory", async () => createMemoryBackend()],
  // A commit takes longer than a turn, so that the next chunk is there when it is done.
  ["in SQLite", () => openSqliteBackend({ folder: temporaryFolder() })],
])("chunks that come one per turn of the event loop, %s", (_, open) => {
  const COUNT = 600;
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  async function stepsOf(waitsForCommits: boolean) {
    const backend = wrapBackend(await open());
    onTestFinished(() => backend.close());
    const agent = defineAgent({
      name: "Steady",
      description: "Says a word in every turn of the event loop.",
      async *run({ durable }) {
        for (let place = 0; place < COUNT; place++) {
          yield `${place} `;
          await nextTurn();
          if (waitsForCommits) await durable();
        }
      },
    });
    const engine = anEngine(agent, backend);
    const { live } = await tell(engine, "go");
    await live.until(isSettled);
    expect(textOf(live.task)).toBe(Array.from({ length: COUNT }, (_, n) => `${n} `).join(""));
    engine.close();
    return backend.steps.map(({ events }) => events);
  }

  test("share commits, except the first ones", async () => {
    const steps = await stepsOf(false);

    // The task; then chunk by chunk, until it is known that they keep coming.
    expect(steps.slice(1, 3).map(({ length }) => length)).toEqual([1, 1]);
    expect(steps.length).toBeLessThan(COUNT / 2);
  });

  test("are each committed at once if the agent waits for that", async () => {
    // Gathering would wait for a timer, and none ends here.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());

    const steps = await stepsOf(true);

    expect(steps.length).toBeGreaterThan(COUNT);
  });
});
