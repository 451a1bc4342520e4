import { type AgentDefinition, defineAgent } from "convoke";
import { randomUUID } from "node:crypto";
import { type Message, type StatusUpdateEvent, type Task, userMessage } from "@convoke/protocol";
import { type Engine, sendMessage } from "@convoke/engine";
import { describe, expect, onTestFinished, test } from "vitest";
import { CALLER, anEngine } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";
import { BACKENDS } from "./backends.ts";
import type { CountedBackend } from "./counted-backend.ts";
import { expectFewSnapshots, expectNoGrowth } from "./expected-costs.ts";
import { type Cost, each } from "./ledger.ts";

const TURNS = 300;
const WINDOW = 30;

/** How many earlier tasks of its context an agent gets, so that nothing is added beyond that. */
const REMEMBERED_TASKS = 50;

/** Long enough that snapshots are written in between. */
const QUESTION = `And then? ${"x".repeat(400)}`;

const CALL = { caller: CALLER, version: "1.0", trace: undefined, lastEventId: undefined } as const;

/** Waits for each answer in one run. */
const asking: AgentDefinition["run"] = async ({ ask }) => {
  for (;;) await ask(QUESTION);
};

/** Ends its turn with a question, so that each answer starts a run. */
const endingItsTurn: AgentDefinition["run"] = async function* ({ task, id }) {
  const parts = [{ kind: "text", text: QUESTION }] as const;
  const message: Message = { kind: "message", role: "agent", messageId: id(), parts };
  yield {
    kind: "status-update",
    taskId: task.id,
    contextId: task.contextId,
    status: { state: "input-required", message },
    final: true,
  } satisfies StatusUpdateEvent;
};

describe.each(Object.entries(BACKENDS))("in %s", (_, open) => {
  for (const [manner, run] of Object.entries({
    "of one run": asking,
    "with a run of its own": endingItsTurn,
  })) {
    verifies("G9", `turn ${TURNS} ${manner} costs the same as turn ${WINDOW}`, async () => {
      const backend = await open();
      const engine = engineOf(run, backend);
      const { id: taskId } = await send(engine);

      const turns = await costsOf(backend, () => send(engine, { taskId }));

      expectNoGrowth(turns.between(TURNS - WINDOW, TURNS), turns.between(WINDOW, 2 * WINDOW));
      expect(backend.ledger.between(0).snapshotBytes).toBeGreaterThan(0);
      expectFewSnapshots(backend.ledger);
    });
  }

  verifies(
    "G9",
    `a task after ${TURNS} of its context costs the same as one after 60`,
    async () => {
      const backend = await open();
      const engine = engineOf(() => QUESTION, backend);
      const { contextId } = await send(engine);

      const tasks = await costsOf(backend, () => send(engine, { contextId }));

      const early = tasks.between(REMEMBERED_TASKS + 10, REMEMBERED_TASKS + 10 + WINDOW);
      const late = tasks.between(TURNS - WINDOW, TURNS);
      expectNoGrowth(late, early);
      // Each is found by a list, and then read with its snapshot.
      expect(late.recordsRead).toBe(2 * REMEMBERED_TASKS);
    },
  );

  // Not constant, but bounded: by `limits.events` and `limits.history`, and only for runs beyond
  // `maxParkedRuns`. What is not in memory has to be read, and a run is restarted from its journal.
  test("an answer to a run that had to leave memory reads its log twice, and not more", async () => {
    const backend = await open();
    const engine = engineOf(asking, backend, { maxParkedRuns: 1 });
    const [first, second] = [await send(engine), await send(engine)];
    for (let turn = 0; turn < 40; turn++) await send(engine, { taskId: first.id });
    await send(engine, { taskId: second.id });
    await isDropped(engine, first);
    const { head = 0 } = (await backend.tasks.get(first.id)) ?? {};
    const before = backend.ledger.mark;

    const answered = await send(engine, { taskId: first.id });

    expect(answered.status.state).toBe("input-required");
    const { eventsRead } = backend.ledger.between(before);
    expect(head).toBeGreaterThan(4 * 40);
    expect(eventsRead).toBeGreaterThanOrEqual(head);
    expect(eventsRead).toBeLessThan(2 * head + 10);
  });
});

function engineOf(
  run: AgentDefinition["run"],
  backend: CountedBackend,
  options: { readonly maxParkedRuns?: number } = {},
): Engine {
  const agent = defineAgent({ name: "Patient", description: "Has many turns.", run });
  const engine = anEngine(agent, backend, options);
  onTestFinished(() => engine.close());
  return engine;
}

/**
 * Sends a message and waits for the turn it starts. The history is not requested, so that responses
 * have the same size.
 */
async function send(engine: Engine, more: Partial<Message> = {}): Promise<Task> {
  const message = { ...userMessage(randomUUID(), "Go on."), ...more };
  const request = { message, blocking: true, historyLength: 0 };
  return (await sendMessage(request, { engine, agent: engine.agents.first, ...CALL })) as Task;
}

interface TurnCosts {
  /** The cost of one turn, averaged from the first number up to the second. */
  between(first: number, last: number): Cost;
}

/** Runs as many turns as given, one after the other. */
async function costsOf(
  { ledger }: CountedBackend,
  turn: () => Promise<unknown>,
): Promise<TurnCosts> {
  const marks = [ledger.mark];
  for (let count = 0; count < TURNS; count++) {
    await turn();
    marks.push(ledger.mark);
  }
  return {
    between: (first, last) =>
      each(ledger.between(marks[first]!, marks[last]), Math.max(1, last - first)),
  };
}

/** A run leaves memory one turn of the event loop later, when its output is stored. */
async function isDropped(engine: Engine, { id }: Task): Promise<void> {
  await expect.poll(() => engine.tasks.get(id), { interval: 5, timeout: 20_000 }).toBeUndefined();
}
