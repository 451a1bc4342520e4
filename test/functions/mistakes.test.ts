import { StepError, status, reject as rejectNow } from "convoke";
import { say } from "convoke/testing";
import { textOf, textOfParts } from "@convoke/protocol";
import { defineAgent, type AgentDefinition } from "convoke";
import { describe, expect, test } from "vitest";
import { FunctionRun, type RunResult } from "../../packages/runtime/src/functions/function-run.ts";
import type { FunctionTurn } from "../../packages/runtime/src/functions/function-turn.ts";
import { aTurn, eventsOf } from "../../packages/runtime/src/testing/a-turn.suite.ts";
import { verifies } from "../verifies.ts";
import { World } from "../engine/a-world.ts";
import { type memoryLogger, tell } from "../engine/an-engine.ts";

/** A promise that never settles: the process dies while it waits. */
const never = (): Promise<never> => new Promise(() => undefined);

/** The message of the error with which a run fails. */
async function failureOf(run: AgentDefinition["run"]): Promise<string> {
  const turn = new FunctionRun(aTurn().turn, run as (turn: FunctionTurn) => RunResult);
  const failed: unknown = await eventsOf(turn).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(Error);
  return (failed as Error).message;
}

describe("what a replay would lose is an error at once", () => {
  test.each(["step", "ask", "sleep"] as const)("%s in the body of a step", async (name) => {
    const log = await failureOf(async ({ step, ask, sleep }) => {
      const inner = {
        step: () => step("inner", () => 1),
        ask: () => ask("Who?"),
        sleep: () => sleep(1),
      };
      await step("outer", async () => {
        await inner[name]();
      });
    });

    expect(log).toContain(`${name} was called inside step(`);
  });

  test("but not a step of an agent that is called in a step", async () => {
    const inner = defineAgent({
      name: "Inner",
      description: "Is called.",
      run: ({ step }) => step("inner", () => "from inside"),
    });
    const outer = defineAgent({
      name: "Outer",
      description: "Calls.",
      run: ({ step }) => step("outer", async () => (await say(inner, "go")).text),
    });

    expect((await say(outer, "go")).text).toBe("from inside");
  });

  test("an end that was called and not returned", async () => {
    const log = await failureOf(async ({ step, reject }) => {
      reject("not approved");
      await step("refund", () => 1);
    });
    const imported = await failureOf(async ({ step }) => {
      rejectNow("not approved");
      await step("refund", () => 1);
    });

    expect(log).toContain("reject(…) was called but not returned: write return reject(…)");
    expect(imported).toContain("write return reject(…)");
  });

  test("a step that fails and that nothing waits for", async () => {
    const log = await failureOf(({ step }) => {
      void step("charge", async () => {
        throw new Error("no money");
      });
      return "charged";
    });

    expect(log).toContain("no money");
  });

  test("a status that was never yielded is in the log, and fails the task under say", async () => {
    const run = (): string => {
      status("looking");
      return "done";
    };
    const world = new World(run);
    const { live } = await tell(world.engine, "go");
    const agent = defineAgent({ name: "Silent", description: "Says nothing.", run });

    expect(textOf(await world.settled(live.task.id))).toBe("done");
    const { lines } = world.engine.logger as ReturnType<typeof memoryLogger>;
    expect(lines.join("\n")).toContain("write yield status(…)");
    expect((await say(agent, "go")).task?.status.state).toBe("failed");
  });
});

describe("the same in every attempt", () => {
  verifies("G3", "are the time, random numbers and ids", async () => {
    const seen: string[] = [];
    const world = new World(async ({ now, random, id, step, ask, attempt }) => {
      const first = [now().toISOString(), random(), id()];
      await step("work", () => 1);
      const values = [...first, now().toISOString(), random(), random(), id()];
      seen.push(JSON.stringify(values));
      if (attempt === 1) await never();
      return ask("More?");
    });
    const { live } = await tell(world.engine, "go");
    await expect.poll(() => seen.length).toBe(1);
    await world.hasEvent(live.task.id, "internal:step-end");

    await world.restart();

    await expect.poll(() => seen.length).toBe(2);
    expect(seen[0]).toBe(seen[1]);
    expect(new Set(JSON.parse(seen[0]!) as unknown[]).size).toBeGreaterThanOrEqual(6);
  });

  verifies("G3", "is the error of a step: its name, message and data", async () => {
    class Declined extends Error {
      override readonly name = "Declined";
      readonly code = "insufficient_funds";
      readonly at = new Date();
    }
    const seen: unknown[] = [];
    const world = new World(async ({ step, attempt, ask }) => {
      const error: unknown = await step("charge", () => {
        throw new Declined("no money");
      }).catch((thrown: unknown) => thrown);
      if (!(error instanceof StepError)) throw new Error("another class");
      const { name, message, data, cause } = error;
      seen.push({ name, message, data });
      expect(cause instanceof Declined).toBe(attempt === 1);
      if (attempt === 1) await never();
      return ask("More?");
    });
    const { live } = await tell(world.engine, "go");
    await world.hasEvent(live.task.id, "internal:step-end");

    await world.restart();

    const { message } = (await world.settled(live.task.id)).status;
    expect(textOfParts(message!.parts)).toBe("More?");
    const same = { name: "Declined", message: "no money", data: { code: "insufficient_funds" } };
    expect(seen).toEqual([same, same]);
  });
});
