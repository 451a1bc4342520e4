import { isInterrupted, textOf, textOfParts } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { World } from "../engine/a-world.ts";
import { tell } from "../engine/an-engine.ts";

/** The kinds of the internal events of a task. */
async function kindsOf(world: World, taskId: string): Promise<readonly string[]> {
  return (await world.events(taskId)).map(({ kind }) => kind);
}

describe("sleeps", () => {
  test("run side by side, and each ends at its own time", async () => {
    const ended: string[] = [];
    const world = new World(async ({ sleep }) => {
      const nap = async (name: string, ms: number): Promise<void> => {
        await sleep(ms);
        ended.push(name);
      };
      await Promise.all([nap("third", 90), nap("first", 30), nap("second", 60)]);
      return "awake";
    });
    const { live } = await tell(world.engine, "go");

    expect(textOf(await world.settled(live.task.id))).toBe("awake");
    expect(ended).toEqual(["first", "second", "third"]);
  });

  verifies("G3", "of a task that leaves memory wake it for each of them", async () => {
    const world = new World(
      async ({ sleep, step }) => {
        const chain = async (name: string, ms: number): Promise<string> => {
          await sleep(ms);
          return step(name, () => name);
        };
        return (await Promise.all([chain("a", 40), chain("b", 80), chain("c", 120)])).join("");
      },
      { maxParkedRuns: 0 },
    );
    const { live } = await tell(world.engine, "go");
    await world.settled(live.task.id);

    expect(textOf(await world.task(live.task.id))).toBe("abc");
  });
});

describe("a question beside a sleep", () => {
  test("is answered although the sleep ended first", async () => {
    const world = new World(async ({ ask, sleep }) => {
      const [answer] = await Promise.all([ask("Who?"), sleep(20)]);
      return `Hello, ${answer}!`;
    });
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:woken");
    expect((await world.task(live.task.id)).status.state).toBe("input-required");

    await tell(world.engine, "Ann", { taskId: live.task.id });

    await expect.poll(async () => textOf(await world.task(live.task.id))).toBe("Hello, Ann!");
  });

  verifies(
    "G3",
    "that wins the race withdraws it: the task works, and refuses the answer",
    async () => {
      const gate = Promise.withResolvers<void>();
      const world = new World(async ({ ask, sleep, step }) => {
        const answer = await Promise.race([ask("Who?"), sleep(20)]);
        await step("after", () => gate.promise);
        return answer === undefined ? "nobody" : `Hello, ${answer}!`;
      });
      const { live } = await tell(world.engine, "go");
      const taskId = live.task.id;
      await world.hasEvent(taskId, "internal:recalled");

      expect((await world.task(taskId)).status.state).toBe("working");
      await expect(tell(world.engine, "Ann", { taskId })).rejects.toThrow(
        "is working and accepts no messages while the agent is working",
      );
      gate.resolve();
      expect(textOf(await world.settled(taskId))).toBe("nobody");
      const kinds = await kindsOf(world, taskId);
      expect(kinds.indexOf("internal:recalled")).toBeLessThan(kinds.indexOf("internal:step-start"));
    },
  );

  test("that lost a race and is waited for later is asked again", async () => {
    const world = new World(async ({ ask, sleep, step }) => {
      const question = ask("Who?");
      const early = await Promise.race([question, sleep(20)]);
      if (early === undefined) await step("remind", () => 1);
      return `Hello, ${await question}!`;
    });
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;
    await expect
      .poll(async () => (await kindsOf(world, taskId)).filter((kind) => kind === "internal:ask"))
      .toHaveLength(2);
    await expect
      .poll(async () => isInterrupted((await world.task(taskId)).status.state))
      .toBe(true);
    await world.restart();

    await tell(world.engine, "Ann", { taskId });

    await expect.poll(async () => textOf(await world.task(taskId))).toBe("Hello, Ann!");
  });

  test("is not mistaken for another: two questions are asked one after the other", async () => {
    const world = new World(async ({ ask }) =>
      (await Promise.all([ask("First?"), ask("Second?")])).join(" and "),
    );
    const { live } = await tell(world.engine, "go");
    const taskId = live.task.id;
    const asked = async (): Promise<string> =>
      textOfParts((await world.task(taskId)).status.message?.parts ?? []);

    await expect.poll(asked).toBe("First?");
    await tell(world.engine, "one", { taskId });
    await expect.poll(asked).toBe("Second?");
    await tell(world.engine, "two", { taskId });

    await expect.poll(async () => textOf(await world.task(taskId))).toBe("one and two");
  });
});
