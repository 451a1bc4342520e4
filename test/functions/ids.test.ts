import { createMemoryBackend } from "@convoke/engine/memory";
import { textOf } from "@convoke/protocol";
import type { AgentDefinition } from "convoke";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { World } from "../engine/a-world.ts";
import { type memoryLogger, tell } from "../engine/an-engine.ts";
import { wrapBackend } from "../engine/wrapped-backend.ts";

/** A promise that never settles: the process dies while it waits. */
const never = (): Promise<never> => new Promise(() => undefined);

describe("a step with an id", () => {
  verifies("G3", "is found again in another list: each order is charged once", async () => {
    const open = ["A", "B", "C"];
    const charged: string[] = [];
    const world = new World(async ({ step, attempt }) => {
      const receipts: string[] = [];
      // Read outside of a step: after the crash the list is shorter, and in another order.
      for (const order of attempt === 1
        ? [...open]
        : open.toReversed().filter((one) => one !== "A")) {
        receipts.push(
          await step(
            "charge",
            ({ key }) => {
              charged.push(`${order} ${key.slice(key.indexOf("charge"))}`);
              return attempt === 1 && order === "B" ? never() : `receipt of ${order}`;
            },
            { id: order },
          ),
        );
      }
      return receipts.join(", ");
    });
    const { live } = await tell(world.engine, "go");
    await expect.poll(() => charged.length).toBe(2);

    await world.restart();

    expect(textOf(await world.settled(live.task.id))).toBe("receipt of C, receipt of B");
    expect(charged).toEqual(["A charge:id=A", "B charge:id=B", "C charge:id=C", "B charge:id=B"]);
  });

  test("that the turn has already is an error with the line to write", async () => {
    const world = new World(async ({ step }) => {
      await step("charge", () => 1, { id: "1001" });
      return step("charge", () => "2", { id: "1001" }).catch((error: Error) => error.message);
    });
    const { live } = await tell(world.engine, "go");

    expect(textOf(await world.settled(live.task.id))).toBe(
      'step("charge") was called twice with the id "1001" in one turn; for a repetition count it ' +
        "yourself: { id: `1001:${n}` }",
    );
  });

  test("takes over what was recorded without ids, by order and with its key", async () => {
    const keys: string[] = [];
    const looping =
      (hasIds: boolean): AgentDefinition["run"] =>
      async ({ step, ask }) => {
        const charge = (order: string): Promise<string> =>
          step<string>(
            "charge",
            ({ key }) => {
              keys.push(key.slice(key.indexOf("charge")));
              return order;
            },
            hasIds ? { id: order } : {},
          );
        const first = [await charge("A"), await charge("B")];
        const answer = await ask("Go on?");
        return [...first, answer, await charge("C")].join(" ");
      };
    const world = new World(looping(false));
    const { live } = await tell(world.engine, "go");
    await world.settled(live.task.id);
    await world.restart({ run: looping(true) });

    await tell(world.engine, "yes", { taskId: live.task.id });

    await expect.poll(async () => textOf(await world.task(live.task.id))).toBe("A B yes C");
    expect(keys).toEqual(["charge:1", "charge:2", "charge:id=C"]);
  });
});

describe("the operator is warned once", () => {
  /** The warnings of a run. */
  async function warningsOf(run: AgentDefinition["run"]): Promise<readonly string[]> {
    const world = new World(run, { backend: wrapBackend(createMemoryBackend()) });
    const { live } = await tell(world.engine, "go");
    expect((await world.settled(live.task.id)).status.state).toBe("completed");
    return (world.engine.logger as ReturnType<typeof memoryLogger>).lines;
  }

  test("that a name repeats without ids", async () => {
    const warnings = await warningsOf(async ({ step }) => {
      for (const order of ["A", "B", "C"]) await step("charge", () => order);
    });

    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("say what each is for, such as { id: order.id }");
  });

  test("that a step takes its context and does not use its key", async () => {
    const warnings = await warningsOf(async ({ step }) => {
      await step("charge", (context) => typeof context);
    });

    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("it does not use its key");
  });
});

test("a step that reads a signal of its own fails with the line to write", async () => {
  const world = new World(async ({ step }) =>
    step("charge", (context) => String((context as { signal?: unknown }).signal)).catch(
      (error: Error) => `${error.name}: ${error.message}`,
    ),
  );
  const { live } = await tell(world.engine, "go");

  expect(textOf(await world.settled(live.task.id))).toBe(
    "TypeError: a step has no signal of its own: write run({ signal, step }) and use the signal of the turn",
  );
});
