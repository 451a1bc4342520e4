import type { StatusUpdateEvent } from "@convoke/protocol";
import { inputRequired, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { LoopWorld } from "../loop/a-loop-world.ts";
import { calls, echoTool, resultsTold } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { ACTIVE, READ_FILE, declaring, resultPart, usesOf } from "./a-caller.ts";

const READING = calls("read_file", { path: "notes.txt" });
const CONTINUING = "Continuing without client input...";

const asking = tool({
  name: "asking",
  description: "Asks.",
  run: (_, { answers }) => answers.get("input")?.text ?? inputRequired("What?"),
});

/** The status messages of the task, except those about individual calls. */
async function saidOf(world: LoopWorld, taskId: string) {
  const events = (await world.events(taskId)) as readonly StatusUpdateEvent[];
  return events.flatMap(({ kind, status, final }) =>
    kind === "status-update" && status.message !== undefined && status.state !== "input-required"
      ? [{ state: status.state, text: status.message.parts, final }]
      : [],
  );
}

async function endOf(world: LoopWorld, taskId: string): Promise<StatusUpdateEvent> {
  await expect
    .poll(async () => (await world.backend.tasks.get(taskId))?.state, {
      timeout: 20_000,
      interval: 5,
    })
    .toMatch(/completed|failed/);
  return (await world.events(taskId)).at(-1) as StatusUpdateEvent;
}

describe("a call that the caller does not answer", () => {
  verifies(["R61", "R109"], "waits 300 seconds, according to the log, and no longer", async () => {
    const model = scriptedModel([READING, "Fine."]);
    const world = new LoopWorld({ model }, { extensions: ACTIVE });
    const asked = await world.ask("go", declaring(READ_FILE));

    const [ask] = await world.notes(asked.id, "internal:ask");
    const waits = Date.parse(String(ask?.["until"])) - Date.parse(String(ask?.["timestamp"]));

    // From the time of the question, which may be slightly before it was recorded.
    expect(waits).toBeLessThanOrEqual(300_000);
    expect(waits).toBeGreaterThan(290_000);
    expect((await world.backend.tasks.get(asked.id))?.wakeAt).toBe(
      Date.parse(String(ask?.["until"])),
    );
  });

  verifies("R61", "is skipped, and the model is informed", async () => {
    const model = scriptedModel([[READING, READING], "Fine."]);
    const clientTools = { timeoutMs: 40 };
    const world = new LoopWorld({ model, clientTools }, { extensions: ACTIVE });
    const asked = await world.ask("go", declaring(READ_FILE));

    expect((await endOf(world, asked.id)).status.state).toBe("completed");

    expect(resultsTold(model.requests)).toEqual([
      "Not finished: nobody answered in time.",
      "Not finished: nobody answered in time.",
    ]);
    expect(JSON.stringify(await saidOf(world, asked.id))).toContain(CONTINUING);
  });

  verifies("R61", "fails the task with details, if the agent is configured that way", async () => {
    const model = scriptedModel([READING]);
    const clientTools = { timeoutMs: 40, onTimeout: "fail" } as const;
    const world = new LoopWorld({ model, clientTools }, { extensions: ACTIVE });
    const asked = await world.ask("go", declaring(READ_FILE));

    expect(await endOf(world, asked.id)).toMatchObject({
      status: { state: "failed", message: { parts: [{ text: "Input timeout" }] } },
      final: true,
      metadata: { reason: "input-timeout", taskId: asked.id, timeoutSeconds: 0.04 },
    });
  });

  test("expires after its wait, even if the clock was set back in the meantime", async () => {
    const model = scriptedModel([READING, "Fine."]);
    let backMs = 0;
    const now = (): number => Date.now() - backMs;
    const clientTools = { timeoutMs: 100 };
    const world = new LoopWorld({ model, clientTools }, { extensions: ACTIVE, now });
    const asked = await world.ask("go", declaring(READ_FILE));
    backMs = 5000;

    expect((await endOf(world, asked.id)).status.state).toBe("completed");
    expect(JSON.stringify(await saidOf(world, asked.id))).toContain(CONTINUING);
  });

  for (const onTimeout of ["continue", "fail"] as const) {
    test(`is reported like any question that times out: ${onTimeout}`, async () => {
      const byTools = new LoopWorld(
        { model: scriptedModel([READING, "Fine."]), clientTools: { timeoutMs: 40, onTimeout } },
        { extensions: ACTIVE },
      );
      const byWords = new LoopWorld({
        model: scriptedModel([calls("asking"), "Fine."]),
        tools: [asking],
        inputTimeout: { ms: 40, onTimeout },
      });
      const one = await byTools.ask("go", declaring(READ_FILE));
      const other = await byWords.ask("go");
      const [ours, theirs] = [await endOf(byTools, one.id), await endOf(byWords, other.id)];

      expect(await saidOf(byTools, one.id)).toEqual(await saidOf(byWords, other.id));
      const facts = ({ metadata }: StatusUpdateEvent) => [
        metadata?.["reason"],
        metadata?.["timeoutSeconds"],
      ];
      expect(facts(ours)).toEqual(facts(theirs));
    });

    verifies(
      "R109",
      `expires at the same time if the server was down in the meantime: ${onTimeout}`,
      async () => {
        const model = scriptedModel([READING, "Fine."]);
        const clientTools = { timeoutMs: 60_000, onTimeout };
        let aheadMs = 0;
        const now = (): number => Date.now() + aheadMs;
        const world = new LoopWorld({ model, clientTools }, { extensions: ACTIVE, now });
        const asked = await world.ask("go", declaring(READ_FILE));
        world.die();
        aheadMs = 61_000;

        expect(await world.restart()).toMatchObject({ resumed: 0, ended: 0, waiting: 1 });

        const end = await endOf(world, asked.id);
        expect(end.status.state).toBe(onTimeout === "fail" ? "failed" : "completed");
      },
    );

    test(`has one outcome wherever a crash happens: ${onTimeout}`, async () => {
      const play = async (dieAfter?: number) => {
        const model = scriptedModel([READING, ...Array.from({ length: 9 }, () => "Fine.")]);
        const clientTools = { timeoutMs: 20, onTimeout };
        const world = new LoopWorld({ model, clientTools }, { extensions: ACTIVE });
        if (dieAfter !== undefined) world.dieAfter(dieAfter);
        const taskId = await world.tell("go", declaring(READ_FILE));
        if (dieAfter !== undefined) {
          await expect.poll(() => world.isDead, { timeout: 20_000, interval: 1 }).toBe(true);
          await world.atRest();
          await world.restart();
        }
        await endOf(world, taskId);
        return { said: await saidOf(world, taskId), events: await world.events(taskId) };
      };
      const whole = await play();
      const expired = whole.events.findIndex(({ kind }) => kind === "internal:expired");
      expect(expired).toBeGreaterThan(0);
      for (let events = expired + 1; events < whole.events.length; events++) {
        expect((await play(events)).said, `cut after ${events}`).toEqual(whole.said);
      }
    });
  }

  test("does not expire while a person is asked as well", async () => {
    const model = scriptedModel([[READING, calls("echo", { text: "x" })], "Fine."]);
    const tools = [echoTool({ confirm: "ask" })];
    const clientTools = { timeoutMs: 30 };
    const world = new LoopWorld({ model, tools, clientTools }, { extensions: ACTIVE });
    const asked = await world.ask("go", declaring(READ_FILE));
    await new Promise((resolve) => setTimeout(resolve, 60));

    const next = await world.ask([resultPart("call_1", { result: 1 })], { taskId: asked.id });

    expect(usesOf(next)).toEqual([]);
    expect(next.status.state).toBe("input-required");
  });
});
