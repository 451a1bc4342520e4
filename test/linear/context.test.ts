import { defineAgent } from "convoke";
import { scriptedModel } from "convoke/testing";
import { createMemoryBackend } from "@convoke/engine/memory";
import { expect, onTestFinished, test } from "vitest";
import { CALLER, anEngine, tell } from "../engine/an-engine.ts";
import { calls, echoTool } from "../loop/scripts.ts";
import { countBackend } from "./counted-backend.ts";

const TURNS = 8;

test("with 1 MB of context a turn of the model stores as much as with 1 kB", async () => {
  const [small, large] = [await storedByTurns(1_000), await storedByTurns(1_000_000)];

  // The number of tokens has a few digits more.
  expect(large - small).toBeLessThan(TURNS * 10);
  expect(small).toBeGreaterThan(0);
});

test("each request to the model has the entries of the one before, unchanged", async () => {
  const { model } = await answered(1_000);

  for (const [place, { transcript }] of model.requests.entries()) {
    const before = model.requests[place - 1]?.transcript ?? [];
    for (const [index, entry] of before.entries()) expect(transcript[index]).toBe(entry);
  }
  expect(model.requests.at(-1)?.transcript).toHaveLength(2 * TURNS + 1);
});

/** The bytes of the events from the first tool call to the last one. */
async function storedByTurns(contextLength: number): Promise<number> {
  const { marks, ledger } = await answered(contextLength);
  return ledger.between(marks[0]!, marks.at(-1)).eventBytes;
}

/** Lets an agent answer a long message with a model that calls a tool in each turn but the last. */
async function answered(contextLength: number) {
  const { ledger, ...backend } = countBackend(createMemoryBackend());
  const marks: number[] = [];
  const echo = echoTool({ run: () => `echo ${marks.push(ledger.mark)}` });
  const model = scriptedModel([...Array.from({ length: TURNS }, () => calls("echo")), "Done."]);
  const agent = defineAgent({ name: "Reader", description: "Reads.", model, tools: [echo] });
  const engine = anEngine(agent, backend);
  onTestFinished(() => engine.close());
  const { live } = await tell(engine, "word ".repeat(contextLength / 5));
  const { taskId } = live.writer;
  await expect
    .poll(async () => (await engine.tasks.find(taskId, CALLER)).task.status.state)
    .toBe("completed");
  return { model, marks, ledger };
}
