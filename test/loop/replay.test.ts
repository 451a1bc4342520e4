import { openSqliteBackend } from "@convoke/backends/sqlite";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type Task, isTerminal, textOf } from "@convoke/protocol";
import { inputRequired, tool } from "@convoke/runtime";
import type { Backend } from "@convoke/engine";
import fc from "fast-check";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { type Story, type StoryStep, playStory, playing } from "./a-story.ts";

const text = fc.stringMatching(/^[a-z ]{0,12}$/);
const call = fc.constantFrom("safe", "asking", "guarded", "failing", "unknown", "broken");
const step: fc.Arbitrary<StoryStep> = fc.record({
  text,
  calls: fc.array(call, { minLength: 1, maxLength: 4 }),
  errors: fc.integer({ min: 0, max: 1 }),
});
const secondDeath = fc.option(fc.integer({ min: 2, max: 12 }), { nil: undefined });
const story: fc.Arbitrary<Story> = fc.array(step, { maxLength: 3 });

describe("a task whose process dies after any event", () => {
  verifies(
    ["R113", "G3", "G11"],
    "ends as if nothing had happened, and no finished work is repeated",
    async () => {
      await fc.assert(
        fc.asyncProperty(story, secondDeath, (steps, second) =>
          everyCut(steps, () => createMemoryBackend(), second),
        ),
        { numRuns: Number(process.env["REPLAY_RUNS"] ?? 8) },
      );
    },
    120_000,
  );

  test("does so on SQLite as well", async () => {
    const folders: string[] = [];
    const open = async (): Promise<Backend> => {
      const folder = await mkdtemp(join(tmpdir(), "convoke-replay-"));
      folders.push(folder);
      return openSqliteBackend({ folder });
    };

    await everyCut([{ text: "I ask. ", calls: ["asking", "safe", "guarded"], errors: 1 }], open);

    for (const folder of folders) await rm(folder, { recursive: true });
  }, 120_000);
});

/**
 * Plays a story once without a crash, and once for each of its events with a crash right after it.
 */
async function everyCut(
  steps: Story,
  open: () => Backend | Promise<Backend>,
  secondDeath?: number,
): Promise<void> {
  const whole = await playStory(steps, await open(), []);
  for (let events = 1; events <= whole.events; events++) {
    const deaths = secondDeath === undefined ? [events] : [events, secondDeath];
    const cut = await playStory(steps, await open(), deaths);

    const { events: _, ...rest } = cut;
    const { events: __, ...expected } = whole;
    expect(rest, `cut after ${deaths.join(" and ")}`).toEqual(expected);
  }
}

describe("a tool that a crash interrupted", () => {
  const never = (): Promise<never> => new Promise(() => undefined);

  /**
   * A world that dies while the tool runs for the first time, and its model's view of the result.
   */
  async function cutTool(
    idempotent: boolean,
  ): Promise<{ readonly keys: string[]; readonly task: Task }> {
    const keys: string[] = [];
    const it = tool({
      name: "it",
      description: "Pays.",
      idempotent,
      run: (_, { key }) => {
        keys.push(key);
        return keys.length === 1 ? never() : "paid";
      },
    });
    const world = new LoopWorld({
      model: playing([{ text: "", calls: ["it"], errors: 0 }]),
      tools: [it],
    });
    const taskId = await world.tell("go");
    await world.hasEvent(taskId, "internal:tool-start");
    await expect.poll(() => keys.length, { interval: 2 }).toBe(1);

    await world.restart();

    return { keys, task: await world.settled(taskId) };
  }

  test("runs again with the same key if it is idempotent", async () => {
    const { keys, task } = await cutTool(true);

    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(textOf(task)).toContain('"paid"');
  });

  test("does not run again otherwise, and the model is informed that the outcome is unknown", async () => {
    const { keys, task } = await cutTool(false);

    expect(keys).toHaveLength(1);
    expect(textOf(task)).toContain("a crash cut this call; it may or may not have done its work");
  });

  test("had its start on disk before it started", async () => {
    const logged: string[][] = [];
    const world: LoopWorld = new LoopWorld({
      model: playing([{ text: "", calls: ["it"], errors: 0 }]),
      tools: [
        tool({
          name: "it",
          description: "Looks at the log.",
          run: async (_, { taskId }) => {
            logged.push((await world.events(taskId)).map(({ kind }) => kind));
          },
        }),
      ],
    });

    await world.ask("go");

    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain("internal:tool-start");
  });
});

test("a run that left memory while it waited resumes from its journal", async () => {
  const asking = tool({
    name: "asking",
    description: "Asks.",
    run: (_, { answers }) => answers.get("input")?.text ?? inputRequired("What?"),
  });
  const model = playing([{ text: "I ask. ", calls: ["asking"], errors: 0 }]);
  const world = new LoopWorld({ model, tools: [asking] }, { maxParkedRuns: 1 });
  const first = await world.ask("one");
  await world.ask("two");
  await world.ask("three");

  const done = await world.ask("that", { taskId: first.id });

  expect(isTerminal(done.status.state)).toBe(true);
  expect(textOf(done)).toContain('"that"');
  expect((await world.notes(first.id, "internal:attempt")).length).toBe(1);
});

test("a question that was recorded but not asked before the crash is asked, and recorded once", async () => {
  const asking = tool({
    name: "asking",
    description: "Asks.",
    run: (_, { answers }) => answers.get("input")?.text ?? inputRequired("What?"),
  });
  const story = [{ text: "", calls: ["asking"], errors: 0 }];
  const whole = new LoopWorld({ model: playing(story), tools: [asking] });
  const asked = await whole.ask("go");
  const kinds = (await whole.events(asked.id)).map(({ kind }) => kind);
  const world = new LoopWorld({ model: playing(story), tools: [asking] });

  const taskId = await world.tell("go");
  // The task and its first status are already there.
  world.dieAfter(kinds.indexOf("internal:ask") + 1 - 2);
  await expect.poll(() => world.isDead, { interval: 2 }).toBe(true);
  await world.restart();
  const again = await world.settled(taskId);

  expect(again.status.state).toBe("input-required");
  expect(await world.notes(taskId, "internal:ask")).toHaveLength(1);
  const done = await world.ask("that", { taskId });
  expect(textOf(done)).toContain('"that"');
});
