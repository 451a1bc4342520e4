import type { AgentDefinition } from "convoke";
import { isInterrupted, textOf, textOfParts } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { World } from "./a-world.ts";
import { type memoryLogger, tell } from "./an-engine.ts";

type Run = AgentDefinition["run"];

/** The operator's log of the current process. */
function logOf({ engine }: World): readonly string[] {
  return (engine.logger as ReturnType<typeof memoryLogger>).lines;
}

/**
 * Starts a task, restarts with changed code while it waits, and answers or lets its timer expire.
 */
async function deploy(before: Run, after: Run, answer = "yes") {
  const world = new World(before);
  const { live } = await tell(world.engine, "go");
  const taskId = live.task.id;
  await expect
    .poll(async () => JSON.stringify(await world.events(taskId)))
    .toMatch(/internal:(ask|sleep)/);
  await world.restart({ run: after });
  const { state } = (await world.settled(taskId)).status;
  if (isInterrupted(state)) await tell(world.engine, answer, { taskId });
  await expect.poll(async () => (await world.task(taskId)).status.state).not.toBe("working");
  return { world, taskId, task: await world.settled(taskId) };
}

/** Properties that are not in the log do not matter. */
const SENTENCE = { type: "string", title: undefined };

const AMOUNT = { type: "object", properties: { amount: { type: "number" } } };

/** Each case: the code that asked, the deployed code, and how the log describes both. */
const CHANGES: Readonly<Record<string, readonly [Run, Run, string, string]>> = {
  "another question": [
    async ({ ask }) => ask("Refund 30 EUR?"),
    async ({ ask }) => ask("Close the account?"),
    'ask("Refund 30 EUR?")',
    'ask("Close the account?")',
  ],
  "other choices": [
    async ({ ask }) => ask("Refund?", ["yes", "no"]),
    async ({ ask }) => ask("Refund?", ["no", "yes"]),
    'ask("Refund? (yes / no)")',
    'ask("Refund? (no / yes)")',
  ],
  "another schema": [
    async ({ ask }) => JSON.stringify(await ask("Refund?", { schema: { type: "string" } })),
    async ({ ask }) => JSON.stringify(await ask("Refund?", { schema: AMOUNT })),
    'ask("Refund?", { schema: {"type":"string"} })',
    `ask("Refund?", { schema: ${JSON.stringify(AMOUNT)} })`,
  ],
  "a sign-in for a question": [
    async ({ ask }) => ask("Refund?"),
    async ({ authRequired }) => authRequired("Refund?"),
    'ask("Refund?")',
    'authRequired("Refund?")',
  ],
  "a sleep for a question": [
    async ({ ask }) => ask("Refund?"),
    async ({ ask, sleep }) => sleep(1).then(() => ask("Refund?")),
    'ask("Refund?")',
    "sleep(…)",
  ],
  "a question for a sleep": [
    async ({ sleep }) => sleep(300),
    async ({ ask }) => ask("Refund?"),
    "sleep(…)",
    'ask("Refund?")',
  ],
};

describe("an agent that was changed while a task was open", () => {
  test.each(Object.entries(CHANGES))(
    "asks %s: the task fails as changed, and the log says what differs",
    async (_name, [before, after, recorded, requested]) => {
      let received: unknown;
      const { world, taskId, task } = await deploy(before, (turn) =>
        // Even a function that catches everything gets no answer to a different question.
        Promise.resolve(after(turn) as Promise<string>).then(
          (answer) => {
            received = answer;
          },
          (error: unknown) => {
            received = error;
          },
        ),
      );

      const { state, message } = task.status;
      expect(state).toBe("failed");
      expect(message?.metadata).toMatchObject({ reason: "changed" });
      expect(textOfParts(message!.parts)).toContain("changed while this task was open");
      expect(received).toBeUndefined();
      const logged = { taskId, agentId: "durable", recorded, requested };
      expect(logOf(world)).toContain(
        `a task no longer fits its agent, which was changed ${JSON.stringify(logged)}`,
      );
    },
  );

  test("replaces a finished step: the new step does not run", async () => {
    const effects: string[] = [];
    const charging =
      (name: string): Run =>
      async ({ step, ask }) => {
        await step(name, () => void effects.push(name));
        return ask("Ship?");
      };

    const { world, task } = await deploy(charging("charge"), charging("charge-card"));

    expect(task.status.message?.metadata).toMatchObject({ reason: "changed" });
    expect(effects).toEqual(["charge"]);
    expect(logOf(world).join("\n")).toContain(
      '"recorded":"step(\\"charge\\")","requested":"step(\\"charge-card\\")"',
    );
  });

  test("may add steps, drop steps, sleep longer, and change what follows", async () => {
    const { task } = await deploy(
      async ({ step, sleep, ask }) => {
        await step("dropped", () => 1);
        await sleep(1);
        return String(await ask("Refund?", { schema: SENTENCE }));
      },
      async ({ step, sleep, ask }) => {
        await sleep(3_600_000);
        const answer = await ask("Refund?", { schema: { ...SENTENCE } });
        const added = await step("added", () => "and a new step");
        return `${String(answer)} ${added}`;
      },
    );

    expect(textOf(task)).toBe("yes and a new step");
  });

  test("may keep the old code path for turns that started with it", async () => {
    const { task, world } = await deploy(
      async ({ ask }) => `refund: ${await ask("Refund?")}`,
      async ({ attempt, step, ask }) => {
        const flow = await step("flow", () => (attempt === 1 ? 2 : 1), { idempotent: true });
        const close = flow === 2 ? `close: ${await ask("Close?")}, ` : "";
        return `${close}refund: ${await ask("Refund?")}`;
      },
    );
    const { live } = await tell(world.engine, "another");

    expect(textOf(task)).toBe("refund: yes");
    const { message } = (await world.settled(live.task.id)).status;
    expect(textOfParts(message!.parts)).toBe("Close?");
  });
});
