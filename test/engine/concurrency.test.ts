import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type Backend,
  type ChangedQuery,
  type ContextQuery,
  type Engine,
  type TaskQuery,
  cancelTask,
  isSettled,
  subscribeToTask,
} from "@convoke/engine";
import {
  A2AError,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type MessageReceivedEvent,
  type StatusUpdateEvent,
  isPublic,
  isTerminal,
  textOf,
  textOfParts,
} from "@convoke/protocol";
import { describe, expect, onTestFinished, vi } from "vitest";
import { verifies } from "../verifies.ts";
import { Reader } from "./a-reader.ts";
import { World } from "./a-world.ts";
import { CALLER, tell } from "./an-engine.ts";
import { slowBackend } from "./slow-backend.ts";
import { wrapBackend } from "./wrapped-backend.ts";

const CALL = { caller: CALLER, version: "1.0", trace: undefined } as const;

const never = (): Promise<never> => new Promise(() => undefined);
const aTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function follow(engine: Engine, taskId: string, lastEventId?: string): Promise<Reader> {
  return new Reader(
    await subscribeToTask({ taskId }, { engine, agent: engine.agents.first, ...CALL, lastEventId }),
  );
}

/** The error code, or `undefined` if the message was accepted. */
async function refusalOf(work: Promise<unknown>): Promise<number | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (A2AError.is(error)) return error.row.code;
    throw error;
  }
}

/** The chunks of the answer, one for each event that had some. */
function chunksOf(log: readonly AgentEvent[]): readonly string[] {
  return log
    .filter(({ kind }) => kind === "artifact-update")
    .map((event) => textOfParts((event as ArtifactUpdateEvent).artifact.parts))
    .filter((text) => text !== "");
}

function stateOf(event: AgentEvent | undefined): string | undefined {
  return (event as Partial<StatusUpdateEvent> | undefined)?.status?.state;
}

const numbers = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${n} `);

describe("a second message to a working task", () => {
  verifies(
    ["G7", "sdk-p2"],
    "is rejected, and the stream of the first message is not affected",
    async () => {
      const gate = Promise.withResolvers<void>();
      const world = new World(async function* () {
        for (const chunk of numbers(50)) {
          yield chunk;
          if (chunk === "10 ") await gate.promise;
          await aTurn();
        }
      });
      const { live } = await tell(world.engine, "go");
      const taskId = live.task.id;
      const reader = await follow(world.engine, taskId, "0");

      const refusals = await Promise.all(
        numbers(20).map((text) => refusalOf(tell(world.engine, text, { taskId }))),
      );
      gate.resolve();
      await reader.ended;

      expect(new Set(refusals)).toEqual(new Set([-32004]));
      const log = await world.events(taskId);
      expect(chunksOf(log)).toEqual(numbers(50));
      expect(reader.frames.map(({ event }) => event)).toEqual(log.filter(isPublic));
      expect(reader.fold().status.state).toBe("completed");
      expect(reader.fold().history).toHaveLength(1);
    },
  );

  verifies("G4", "reaches an agent that accepts messages, in the order of the log", async () => {
    const world = new World(
      async function* ({ inbox }) {
        for (let n = 0; n < 30; n++) yield textOfParts((await inbox.next()).value!.parts);
      },
      { takesMessages: true },
    );
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;

    await Promise.all(numbers(30).map((text) => tell(world.engine, text, { taskId })));
    await live.until(isSettled);

    const log = await world.events(taskId);
    const received = log
      .filter(({ kind }) => kind === "internal:message")
      .map((event) => textOfParts((event as MessageReceivedEvent).message.parts));
    expect(received).toEqual(numbers(30));
    expect(chunksOf(log)).toEqual(numbers(30));
  });

  verifies(
    ["G3", "G4"],
    "reaches it in that order after a crash too, before messages that arrive during recovery",
    async () => {
      const memory = createMemoryBackend();
      const gate = Promise.withResolvers<void>();
      const backend = {
        ...slowBackend(memory, 0),
        tasks: {
          get: (taskId: string) => memory.tasks.get(taskId),
          record: (taskId: string) => memory.tasks.record(taskId),
          list: (query: TaskQuery) => memory.tasks.list(query),
          changedSince: (query: ChangedQuery) => memory.tasks.changedSince(query),
          unfinished: (after: string, limit: number) => memory.tasks.unfinished(after, limit),
          newest: memory.tasks.newest.bind(memory.tasks),
          waking: memory.tasks.waking.bind(memory.tasks),
          // The input of the restarted turn is read after the log, and slowly.
          ofContext: async (query: ContextQuery) => {
            await gate.promise;
            return memory.tasks.ofContext(query);
          },
        },
      };
      const world = new World(
        async function* ({ inbox, step, attempt }) {
          await step("begin", () => "begun");
          if (attempt === 1) await never();
          for (let n = 0; n < 6; n++) yield textOfParts((await inbox.next()).value!.parts);
        },
        { takesMessages: true, backend },
      );
      const { live } = await tell(world.engine, "go");
      const taskId = live.task.id;
      await world.hasEvent(taskId, "internal:step-end");
      for (const text of ["a ", "b ", "c "]) await tell(world.engine, text, { taskId });

      await world.restart();
      for (const text of ["d ", "e ", "f "]) await tell(world.engine, text, { taskId });
      gate.resolve();

      expect(textOf(await world.settled(taskId))).toBe("a b c d e f ");
    },
  );
});

describe("a subscriber under load, with a slow disk", () => {
  verifies(
    ["G2", "G7", "sdk-p1"],
    "that connects at any moment misses nothing and receives nothing twice",
    async () => {
      const enough = Promise.withResolvers<void>();
      const world = new World(
        async function* () {
          for (const chunk of numbers(101)) {
            if (chunk === "90 ") await enough.promise;
            yield chunk;
            if (chunk.endsWith("5 ")) await sleep(2);
          }
        },
        { backend: slowBackend(createMemoryBackend(), 5) },
      );
      const { live } = await tell(world.engine, "go");
      const taskId = live.task.id;
      const readers: Reader[] = [];

      while (!isSettled(live)) {
        const cursor = readers.length % 3 === 0 ? undefined : readers.length % live.writer.head;
        readers.push(await follow(world.engine, taskId, cursor?.toString()));
        if (readers.length > 10) enough.resolve();
        await sleep(readers.length % 4);
      }
      await Promise.all(readers.map((reader) => reader.ended));

      expect(readers.length).toBeGreaterThan(10);
      const log = await world.events(taskId);
      expect(chunksOf(log)).toEqual(numbers(101));
      for (const { frames } of readers) {
        const [first] = frames;
        const ids = log.map((_, place) => place + 1).filter((id) => id > first!.id);
        expect(frames.slice(1).map(({ id }) => id)).toEqual(ids);
      }
    },
  );
});

/** A backend where one read can be held back: it returns the state at the time of the request. */
function aBackendThatReadsLate() {
  const memory = createMemoryBackend();
  const gate = Promise.withResolvers<void>();
  let isLate = false;
  const backend: Backend = {
    ...slowBackend(memory, 0),
    read: async (taskId, after, limit) => {
      const waits = isLate;
      isLate = false;
      const page = await memory.read(taskId, after, limit);
      if (waits) await gate.promise;
      return page;
    },
  };
  const holdNextRead = (): void => {
    isLate = true;
  };
  return { backend, gate, holdNextRead };
}

describe("a task that is not in memory", () => {
  verifies(["G2", "G8"], "hides nothing from a subscriber that is still reading", async () => {
    const { backend, gate, holdNextRead } = aBackendThatReadsLate();
    const world = new World(async ({ ask }) => ask("Who?"), { backend });
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;
    await world.settled(taskId);
    await world.restart();
    const { length: head } = await world.events(taskId);
    const call = {
      engine: world.engine,
      agent: world.engine.agents.first,
      ...CALL,
      lastEventId: String(head),
    };
    const source = await subscribeToTask({ taskId }, call);

    holdNextRead();
    const reader = new Reader(source);
    await cancelTask(world.engine, taskId, CALLER);
    await aTurn();
    gate.resolve();
    await reader.ended;

    expect(reader.frames.map(({ id }) => id)).toEqual([head + 1]);
    expect(stateOf(reader.frames[0]?.event)).toBe("canceled");
  });

  verifies("G4", "is not loaded in a state from before a concurrent change", async () => {
    const { backend, gate, holdNextRead } = aBackendThatReadsLate();
    const world = new World(async ({ ask }) => ask("Who?"), { backend });
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;
    await world.settled(taskId);
    await world.restart();

    holdNextRead();
    const late = cancelTask(world.engine, taskId, CALLER);
    const early = cancelTask(world.engine, taskId, CALLER);
    await sleep(20);
    gate.resolve();

    const states = (await Promise.all([late, early])).map(({ status }) => status.state);
    expect(states).toEqual(["canceled", "canceled"]);
    expect(
      (await world.events(taskId)).filter((event) => stateOf(event) === "canceled"),
    ).toHaveLength(1);
  });
});

describe("cancel", () => {
  verifies(["G5", "G10", "sdk-p3"], "in the middle of a stream stores nothing twice", async () => {
    const world = new World(
      async function* ({ signal }) {
        for (let n = 0; !signal.aborted; n++) {
          yield `${n} `;
          await aTurn();
        }
      },
      { backend: slowBackend(createMemoryBackend(), 2) },
    );
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;
    const reader = await follow(world.engine, taskId, "0");
    await live.until(({ writer }) => writer.head > 50);

    const canceled = await cancelTask(world.engine, taskId, CALLER);
    await reader.ended;

    const log = await world.events(taskId);
    const chunks = chunksOf(log);
    expect(chunks).toEqual(numbers(chunks.length));
    expect(canceled.status.state).toBe("canceled");
    expect(stateOf(log.at(-1))).toBe("canceled");
    expect(reader.frames.map(({ event }) => event)).toEqual(log.filter(isPublic));
    expect(textOf(reader.fold())).toBe(chunks.join(""));
  });

  verifies(
    ["G5", "G10", "sdk-p4", "sdk-p5"],
    "of an agent that ignores its signal cuts it off, and its later output is not stored",
    async () => {
      let said = 0;
      let isEnded = false;
      const world = new World(async function* () {
        try {
          for (; said < 200; said++) {
            yield `${said} `;
            await sleep(10);
          }
        } finally {
          isEnded = true;
        }
        return "done";
      });
      const { live } = await tell(world.engine, "go");
      const taskId = live.task.id;
      await live.until(({ writer }) => writer.head > 5);

      const began = performance.now();
      const canceled = await cancelTask(world.engine, taskId, CALLER);
      const took = performance.now() - began;
      const { head } = live.writer;
      // It emits another event after the end, and its iterator is then ended.
      await expect.poll(() => isEnded, { timeout: 20_000 }).toBe(true);
      await sleep(50);

      expect(canceled.status.state).toBe("canceled");
      expect(took).toBeGreaterThanOrEqual(490);
      expect(took).toBeLessThan(20_000);
      const log = await world.events(taskId);
      expect(log).toHaveLength(head);
      expect(stateOf(log.at(-1))).toBe("canceled");
      expect(said).toBeLessThan(200);
    },
  );

  verifies("G10", "cannot be turned into a success by an agent that catches it", async () => {
    const world = new World(async ({ signal, reply }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return reply("I had finished anyway");
    });
    const { live } = await tell(world.engine, "go");

    const canceled = await cancelTask(world.engine, live.task.id, CALLER);

    expect(canceled.status.state).toBe("canceled");
    expect(await refusalOf(cancelTask(world.engine, live.task.id, CALLER))).toBeUndefined();
  });

  verifies("G10", "is not overtaken by the deadline of the task", async () => {
    // The deadline comes when the test says so, and not before the cancel.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const world = new World(
      async ({ signal }) => {
        signal.addEventListener("abort", () => aborted.resolve());
        begun.resolve();
        await gate.promise;
      },
      { timeoutMs: 60 },
    );
    const { live } = await tell(world.engine, "go");
    await begun.promise;

    const canceled = cancelTask(world.engine, live.task.id, CALLER);
    await aborted.promise;
    await vi.advanceTimersByTimeAsync(100);
    gate.resolve();

    expect((await canceled).status.state).toBe("canceled");
    expect(stateOf((await world.events(live.task.id)).at(-1))).toBe("canceled");
  });

  verifies("G10", "sent many times at once is one cancel", async () => {
    const world = new World(async ({ ask }) => ask("Who?"), {
      maxParkedRuns: 0,
      backend: slowBackend(createMemoryBackend(), 2),
    });
    const { live } = await tell(world.engine, "go");
    await world.settled(live.task.id);

    const canceled = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        await sleep(n / 2);
        return cancelTask(world.engine, live.task.id, CALLER);
      }),
    );

    expect(new Set(canceled.map(({ status }) => status.state))).toEqual(new Set(["canceled"]));
    const ends = (await world.events(live.task.id)).filter(
      (event) => stateOf(event) === "canceled",
    );
    expect(ends).toHaveLength(1);
  });

  verifies(
    ["G3", "G10"],
    "that was recorded before a kill is carried out by the next process",
    async () => {
      let attempts = 0;
      const world = new World(
        async function* () {
          attempts++;
          yield "half";
          await never();
        },
        { restart: true },
      );
      const { live } = await tell(world.engine, "go");
      const taskId = live.task.id;
      await world.hasEvent(taskId, "artifact-update");
      const reader = await follow(world.engine, taskId, "0");
      void cancelTask(world.engine, taskId, CALLER);
      await world.hasEvent(taskId, "internal:cancel");
      await aTurn();

      expect(await world.restart()).toMatchObject({ resumed: 0, ended: 1, waiting: 0 });

      const rest = await follow(world.engine, taskId, String(reader.frames.at(-1)!.id));
      await rest.ended;
      const log = await world.events(taskId);
      expect([...reader.frames, ...rest.frames].map(({ event }) => event)).toEqual(
        log.filter(isPublic),
      );
      expect(stateOf(log.at(-1))).toBe("canceled");
      expect(attempts).toBe(1);
      expect((await cancelTask(world.engine, taskId, CALLER)).status.state).toBe("canceled");
    },
  );
});

describe("two answers at once", () => {
  verifies("G4", "are one answer, and the other is rejected, a hundred times", async () => {
    for (const maxParkedRuns of [0, 1000]) {
      const world = new World(async ({ ask }) => `hello ${await ask("Who?")}`, { maxParkedRuns });
      const oneRound = async (): Promise<void> => {
        const { live } = await tell(world.engine, "go");
        const taskId = live.task.id;
        await world.settled(taskId);

        const outcomes = await Promise.all(
          ["Ann", "Bob"].map((name) => refusalOf(tell(world.engine, name, { taskId }))),
        );

        expect(new Set(outcomes)).toEqual(new Set([-32004, undefined]));
        const winner = outcomes[0] === undefined ? "Ann" : "Bob";
        await expect.poll(async () => textOf(await world.task(taskId))).toBe(`hello ${winner}`);
        const log = await world.events(taskId);
        expect(log.filter(({ kind }) => kind === "internal:message")).toHaveLength(1);
      };
      await Promise.all(Array.from({ length: 50 }, oneRound));
    }
  });

  verifies(
    "G4",
    "that arrive while the question is being stored go to the run that asks",
    async () => {
      const backend = wrapBackend(createMemoryBackend());
      const asks = Promise.withResolvers<void>();
      let runs = 0;
      const world = new World(
        async ({ ask }) => {
          runs++;
          await asks.promise;
          return `hello ${await ask("Who?")}`;
        },
        { backend },
      );
      const { live } = await tell(world.engine, "go");
      const taskId = live.task.id;

      backend.hold();
      asks.resolve();
      await aTurn();
      const message = { taskId, messageId: "m2" };
      const answers = ["Ann", "Ann"].map((name) => tell(world.engine, name, message));
      await aTurn();
      backend.release();
      await Promise.all(answers);
      await live.until(({ task }) => isTerminal(task.status.state));

      expect(textOf(live.task)).toBe("hello Ann");
      expect(runs).toBe(1);
    },
  );
});

describe("an answer and a cancel at once", () => {
  verifies(["G4", "G5", "G10"], "leave one end and no run behind, two hundred times", async () => {
    const seen = new Set<string>();
    for (const maxParkedRuns of [0, 1000]) {
      let running = 0;
      const world = new World(
        async ({ ask, signal }) => {
          await ask("Who?");
          running++;
          // Ends only when its signal fires.
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          running--;
        },
        { maxParkedRuns, backend: slowBackend(createMemoryBackend(), 1) },
      );
      await Promise.all(
        Array.from({ length: 100 }, async (_, round) => {
          const { live } = await tell(world.engine, "go");
          const taskId = live.task.id;
          await world.settled(taskId);
          await sleep(round % 3);

          const answered = refusalOf(tell(world.engine, "Ann", { taskId }));
          await sleep(round % 7);
          const canceled = await cancelTask(world.engine, taskId, CALLER);

          expect(canceled.status.state).toBe("canceled");
          const log = await world.events(taskId);
          const outcome = await answered;
          const answers = log.filter(({ kind }) => kind === "internal:message");
          expect(answers).toHaveLength(outcome === undefined ? 1 : 0);
          expect(log.filter((event) => stateOf(event) === "canceled")).toHaveLength(1);
          expect(stateOf(log.at(-1))).toBe("canceled");
          seen.add(outcome === undefined ? "answered" : "refused");
        }),
      );
      await expect.poll(() => running).toBe(0);
    }
    expect(seen.has("answered")).toBe(true);
  });
});
