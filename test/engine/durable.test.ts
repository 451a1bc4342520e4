import { type AgentDefinition, type FunctionTurn, StepUnknownError } from "convoke";
import { type ArtifactUpdateEvent, isPublic, textOf, textOfParts } from "@convoke/protocol";
import { createMemoryBackend } from "@convoke/engine/memory";
import { cancelTask } from "@convoke/engine";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { World } from "./a-world.ts";
import { CALLER, tell } from "./an-engine.ts";
import { wrapBackend } from "./wrapped-backend.ts";

/** A promise that never settles: the process dies while it waits. */
const never = (): Promise<never> => new Promise(() => undefined);

describe("a step", () => {
  verifies("G3", "that has finished does not run again after a crash", async () => {
    const effects: string[] = [];
    const world = new World(async function* ({ step, attempt }) {
      const first = await step("first", () => {
        effects.push(`first in attempt ${attempt}`);
        return { n: effects.length };
      });
      if (attempt === 1) await never();
      yield `first was ${first.n}, `;
      yield await step("second", () => {
        effects.push(`second in attempt ${attempt}`);
        return "second is done";
      });
    });
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:step-end");

    expect(await world.restart()).toMatchObject({ resumed: 1, ended: 0, waiting: 0 });

    expect(textOf(await world.settled(live.task.id))).toBe("first was 1, second is done");
    expect(effects).toEqual(["first in attempt 1", "second in attempt 2"]);
  });

  test("that a crash interrupted has an unknown outcome, and the function is informed once", async () => {
    const told: string[] = [];
    const world = new World(async function* ({ step, attempt }) {
      try {
        await step("charge", () => (attempt === 1 ? never() : "charged twice"));
      } catch (error) {
        told.push(`${attempt}: ${(error as Error).name}`);
        if (attempt === 2) await never();
        yield error instanceof StepUnknownError ? "unknown" : "known";
      }
    });
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:step-start");

    await world.restart();
    await world.hasEvent(live.task.id, "internal:step-end");
    await world.restart();

    expect(textOf(await world.settled(live.task.id))).toBe("unknown");
    expect(told).toEqual(["2: StepUnknownError", "3: StepUnknownError"]);
  });

  test("that takes a key runs again with the same key", async () => {
    const keys: string[] = [];
    const world = new World(async function* ({ step, attempt }) {
      yield await step("charge", ({ key }) => {
        keys.push(key);
        return attempt === 1 ? never() : "charged";
      });
    });
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:step-start");

    await world.restart();

    expect(textOf(await world.settled(live.task.id))).toBe("charged");
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test("that failed and was caught fails again with the same text", async () => {
    let runs = 0;
    const world = new World(
      async function* ({ step, ask }) {
        const outcome = await step("try", () => {
          runs++;
          throw new RangeError("too much");
        }).catch((error: Error) => `${error.name}: ${error.message}`);
        yield `${outcome}, ${await ask("and now?")}`;
      },
      { maxParkedRuns: 0 },
    );
    const { live } = await tell(world.engine, "go");
    await world.settled(live.task.id);
    await world.restart();

    await tell(world.engine, "go on", { taskId: live.task.id });

    await world.hasEvent(live.task.id, "artifact-update");
    expect(textOf(await world.settled(live.task.id))).toBe("RangeError: too much, go on");
    expect(runs).toBe(1);
  });

  test("may run in parallel with others, and they may finish in any order", async () => {
    const runs: string[] = [];
    const gates = new Map<string, PromiseWithResolvers<void>>(
      ["a", "b", "c"].map((name) => [name, Promise.withResolvers()]),
    );
    const world = new World(
      async function* ({ step, ask }) {
        const results = await Promise.all(
          ["a", "b", "c", "a"].map((name) =>
            step(name, async () => {
              runs.push(name);
              await gates.get(name)!.promise;
              return name.toUpperCase();
            }),
          ),
        );
        yield results.join("") + (await ask("go on?"));
      },
      { maxParkedRuns: 0 },
    );
    const { live } = await tell(world.engine, "go");

    for (const name of ["c", "b", "a"]) {
      gates.get(name)!.resolve();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await world.settled(live.task.id);
    await world.restart();
    await tell(world.engine, "!", { taskId: live.task.id });
    await world.hasEvent(live.task.id, "artifact-update");

    expect(textOf(await world.settled(live.task.id))).toBe("ABCA!");
    expect(runs.toSorted()).toEqual(["a", "a", "b", "c"]);
  });
});

describe("a question", () => {
  verifies(
    ["G3", "R111"],
    "survives the process, and its answer resumes the function where it asked",
    async () => {
      const effects: string[] = [];
      const world = new World(async function* ({ step, ask }) {
        yield "before ";
        await step("once", () => effects.push("once"));
        const name = await ask("Who?");
        yield `hello ${name}`;
      });
      const { live } = await tell(world.engine, "go");
      await world.settled(live.task.id);

      expect(await world.restart()).toMatchObject({ resumed: 0, ended: 0, waiting: 1 });
      expect((await world.task(live.task.id)).status.state).toBe("input-required");
      await tell(world.engine, "Ann", { taskId: live.task.id });
      await expect
        .poll(async () => textOf(await world.task(live.task.id)))
        .toBe("before hello Ann");

      const questions = (await world.events(live.task.id)).filter(
        ({ kind }) => kind === "internal:ask",
      );
      expect(questions).toHaveLength(1);
      expect(effects).toEqual(["once"]);
      const { history = [] } = await world.task(live.task.id);
      expect(history.map(({ parts }) => textOfParts(parts))).toEqual(["go", "Who?", "Ann"]);
    },
  );

  test("whose run leaves memory runs no code of the function, not even `finally`", async () => {
    const ran: string[] = [];
    const world = new World(
      async function* ({ ask, attempt }) {
        try {
          yield `hello ${await ask("Who?")}`;
        } finally {
          ran.push(`finally in attempt ${attempt}`);
        }
      },
      { maxParkedRuns: 0 },
    );
    const { live } = await tell(world.engine, "go");
    await world.settled(live.task.id);
    await expect.poll(() => world.engine.tasks.get(live.task.id)).toBe(undefined);

    expect(ran).toEqual([]);
    await tell(world.engine, "Ann", { taskId: live.task.id });
    await expect.poll(async () => textOf(await world.task(live.task.id))).toBe("hello Ann");

    expect(ran).toEqual(["finally in attempt 2"]);
  });
});

describe.each([
  { agent: "with steps", hasSteps: true },
  { agent: "that starts over", hasSteps: false },
])("output that is repeated after a restart by a function $agent", ({ hasSteps }) => {
  const options = { restart: !hasSteps };
  let last = 0;
  const killed = ({ attempt }: FunctionTurn): Promise<never> => {
    last = attempt;
    return never();
  };
  const begin = async ({ step }: FunctionTurn): Promise<unknown> =>
    hasSteps && step("s", () => "s");

  verifies("G2", "is not written twice if it is the same", async () => {
    const world = new World(async function* (turn) {
      yield turn.status("looking");
      yield "one ";
      yield turn.artifact("a.txt", "draft");
      yield turn.artifact("a.txt", "a");
      await begin(turn);
      yield "two ";
      if (turn.attempt < 3) await killed(turn);
      yield "three";
    }, options);
    const { live } = await tell(world.engine, "go");
    await world.hasText(live.task.id, "two ");

    await world.restart();
    await expect.poll(() => last).toBe(2);
    await world.restart();

    expect(textOf(await world.settled(live.task.id))).toBe("one two three\na");
    const shown = (await world.events(live.task.id)).filter(isPublic).map((event) => {
      if (event.kind === "artifact-update") return textOfParts(event.artifact.parts);
      return event.kind === "status-update" ? event.status.state : event.kind;
    });
    // The second status is the one that the function yields; the last chunk has no text.
    expect(shown).toEqual([
      "task",
      "working",
      "working",
      "one ",
      "draft",
      "a",
      "two ",
      "three",
      "",
      "completed",
    ]);
  });

  test.each([
    ["differs", ["red ", "green ", "blue"], ["red ", "+green ", "+blue"]],
    ["is shorter", ["one "], ["one "]],
    ["is longer", ["one ", "two ", "three ", "four"], ["+four"]],
    ["is split into other chunks", ["on", "e two thr", "ee!"], ["one two three!"]],
  ])("is written as far as it is new if it %s", async (_, second, written) => {
    const first = ["one ", "two ", "three "];
    const world = new World(async function* (turn) {
      await begin(turn);
      yield* turn.attempt === 1 ? first : second;
      // The third attempt says the same as the second one.
      if (turn.attempt < 3) await killed(turn);
    }, options);
    const { live } = await tell(world.engine, "go");
    await world.hasText(live.task.id, "three");

    await world.restart();
    await expect.poll(() => last).toBe(2);
    await world.restart();

    expect(textOf(await world.settled(live.task.id))).toBe(second.join(""));
    const updates = (await world.events(live.task.id))
      .filter((event): event is ArtifactUpdateEvent => event.kind === "artifact-update")
      .map(({ append, artifact }) => `${append ? "+" : ""}${textOfParts(artifact.parts)}`);
    expect(updates.filter((text) => text !== "+").slice(first.length)).toEqual(written);
  });
});

describe("a crash", () => {
  verifies("G3", "fails a task without a journal as interrupted", async () => {
    const world = new World(async function* () {
      yield "half";
      await never();
    });
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "artifact-update");

    expect(await world.restart()).toMatchObject({ resumed: 0, ended: 1, waiting: 0 });

    const events = await world.events(live.task.id);
    expect(events.at(-1)).toMatchObject({
      status: { state: "failed" },
      final: true,
      metadata: { reason: "interrupted" },
    });
  });

  verifies("G3", "restarts a turn that has written nothing except working", async () => {
    const world = new World(async function* ({ attempt, ask, text }) {
      if (attempt === 1) await never();
      yield `${text}! `;
      yield await ask("More?");
    });
    const { live } = await tell(world.engine, "go");
    const working = async (): Promise<number> =>
      (await world.events(live.task.id)).filter(({ kind }) => kind === "status-update").length;
    await expect.poll(working).toBe(1);

    expect(await world.restart()).toMatchObject({ resumed: 1, ended: 0 });

    expect((await world.settled(live.task.id)).status.state).toBe("input-required");
    await tell(world.engine, "no", { taskId: live.task.id });
    expect(textOf(await world.settled(live.task.id))).toBe("go! no");
  });

  verifies("G3", "does not affect the tasks of another agent, sleeping or waiting", async () => {
    let time = Date.now();
    const run: AgentDefinition["run"] = async ({ text, ask, sleep }) => {
      if (text === "ask") return ask("Who?");
      await sleep(Number(text));
      return "Slept.";
    };
    const world = new World(run, { now: () => time });
    const asking = (await tell(world.engine, "ask")).live.task.id;
    await world.settled(asking);
    const sleeping = (await tell(world.engine, "3600000")).live.task.id;
    await world.hasEvent(sleeping, "internal:sleep");
    const logs = await Promise.all([asking, sleeping].map((id) => world.events(id)));

    time += 7_200_000;
    const { others, ...own } = await world.restart({ name: "Another" });

    expect(own).toMatchObject({ resumed: 0, ended: 0, waiting: 0 });
    expect(others).toEqual([{ agentId: "durable", agent: "Durable", tasks: 2 }]);
    await expect(tell(world.engine, "Ann", { taskId: asking })).rejects.toThrow(
      `task ${asking} belongs to the agent "Durable", which is not served here`,
    );
    // Its own tasks are woken although the other agent's tasks are due earlier.
    const slept = (await tell(world.engine, "1")).live.task.id;
    await world.settled(slept);
    expect(await Promise.all([asking, sleeping].map((id) => world.events(id)))).toEqual(logs);
    await cancelTask(world.engine, asking, CALLER);
    expect((await world.task(asking)).status.state).toBe("canceled");

    await world.restart();

    expect((await world.settled(sleeping)).status.state).toBe("completed");
  });

  test("identifies an agent with a new name by its id", async () => {
    const world = new World(async ({ ask }) => `Hello, ${await ask("Who?")}!`, { id: "desk" });
    const { live } = await tell(world.engine, "go");
    await world.settled(live.task.id);

    const recovered = await world.restart({ name: "Another" });

    expect(recovered).toEqual({ resumed: 0, ended: 0, waiting: 1, others: [] });
    await tell(world.engine, "Ann", { taskId: live.task.id });
    expect(textOf(await world.settled(live.task.id))).toBe("Hello, Ann!");
  });

  verifies("G3", "that a task causes is repeated five times, then the task fails", async () => {
    let crashes = 0;
    let isPoisoned = false;
    const world = new World(
      async ({ text, step }) => {
        if (text === "poison") {
          isPoisoned = true;
          crashes++;
          await never();
        }
        // Other tasks in the same process as the poison task never finish.
        return step("work", ({ key }) => (isPoisoned ? never() : `done ${key === ""}`));
      },
      { isAfterCrash: true },
    );
    const poison = (await tell(world.engine, "poison")).live.task.id;
    const innocent = (await tell(world.engine, "work")).live.task.id;
    await world.hasEvent(innocent, "internal:step-start");

    for (let life = 1; life <= 6; life++) {
      await expect.poll(() => crashes).toBe(life);
      isPoisoned = false;
      await world.restart();
    }

    const { status } = await world.settled(poison);
    expect(status.state).toBe("failed");
    expect(status.message?.metadata).toEqual({ reason: "crashed", crashes: 6 });
    expect((await world.settled(innocent)).status.state).toBe("completed");
    expect(crashes).toBe(6);
  });

  test("counts only if the task has finished nothing since the previous crash", async () => {
    let life = 0;
    const world = new World(
      async ({ step }) => {
        for (let n = 0; n < 9; n++) {
          if (n === life) return never();
          await step("work", () => "done");
        }
        return "whole";
      },
      { isAfterCrash: true },
    );
    const { live } = await tell(world.engine, "go");
    const ends = async (): Promise<number> =>
      (await world.events(live.task.id)).filter(({ kind }) => kind === "internal:step-end").length;

    while (life < 9) {
      await expect.poll(ends).toBe(life);
      life++;
      await world.restart();
    }

    expect((await world.settled(live.task.id)).status.state).toBe("completed");
  });

  verifies("G10", "does not revive a task whose cancel was recorded", async () => {
    let attempts = 0;
    const world = new World(async ({ step }) => {
      attempts++;
      await step("s", () => "s");
      await never();
    });
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:step-end");
    void cancelTask(world.engine, live.task.id, CALLER);
    await world.hasEvent(live.task.id, "internal:cancel");

    await world.restart();

    expect((await world.task(live.task.id)).status.state).toBe("canceled");
    expect(attempts).toBe(1);
  });

  test("with a hundred interrupted runs restarts at most 64 of them at a time", async () => {
    let running = 0;
    let most = 0;
    const world = new World(async ({ step, attempt }) => {
      await step("s", () => "s");
      if (attempt === 1) await never();
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
    });
    const tasks = await Promise.all(Array.from({ length: 100 }, () => tell(world.engine, "go")));
    await Promise.all(tasks.map(({ live }) => world.hasEvent(live.task.id, "internal:step-end")));

    expect(await world.restart()).toMatchObject({ resumed: 100, ended: 0, waiting: 0 });

    await Promise.all(tasks.map(({ live }) => world.settled(live.task.id)));
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(64);
  });
});

describe("storage reads that fail for a moment", () => {
  verifies("G3", "do not keep an answered task from continuing", async () => {
    const backend = wrapBackend(createMemoryBackend());
    const world = new World(async ({ ask }) => `hello ${await ask("Who are you?")}`, { backend });
    const { live } = await tell(world.engine, "go");
    const { id: taskId } = await world.settled(live.task.id);
    await world.restart();
    // Opened beforehand, so that the read after storing the answer is the one that fails.
    await world.engine.tasks.openFor(CALLER, taskId);

    backend.failNextReads(3);
    await tell(world.engine, "Ann", { taskId });

    expect(textOf(await world.settled(taskId))).toBe("hello Ann");
  });

  verifies("G3", "do not keep an interrupted task from being restarted", async () => {
    const backend = wrapBackend(createMemoryBackend());
    const world = new World(
      async ({ step, attempt }) => {
        await step("first", () => 1);
        if (attempt === 1) await never();
        return "done";
      },
      { backend },
    );
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:step-end");

    backend.failNextConversations(3);
    await world.restart();

    expect(textOf(await world.settled(live.task.id))).toBe("done");
  });
});
