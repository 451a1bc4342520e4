import { type AgentEvent, type StatusUpdateEvent, type TaskState, textOf } from "@convoke/protocol";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { aCrashingServer, rowsOfTheDay } from "./a-crashing-server.ts";
import { Caller } from "../harness/caller.ts";
import type { CrashPlan, CrashPoint } from "./crash-point.ts";
import type { Effect } from "../harness/effect.ts";
import { Receiver } from "../harness/receiver.ts";
import type { Scenario } from "./scenarios.ts";
import type { StoredTask } from "../harness/stored-tasks.ts";
import { chunksIn, foldLog, shownIn } from "../harness/task-log.ts";

/** The final state, for every point of the crash. */
interface Outcome {
  readonly state: TaskState;
  readonly text: string;
  /** How often the effect without an idempotency key happened. */
  readonly shipped: 0 | 1;
  /** How often the agent cleaned up after it was canceled; "either" if that depends on timing. */
  readonly tidied?: 0 | 1 | "either";
}

type Row = readonly [scenario: Scenario, at: CrashPoint, on: string, outcome: Outcome];

const STEP = { state: "completed", text: "paid, shipped", shipped: 1 } as const;
const STREAM = { state: "completed", text: counted("shipped"), shipped: 1 } as const;
const ASK = { state: "completed", text: "May I? yes: shipped", shipped: 1 } as const;
const CANCEL = { state: "canceled", text: "waiting", shipped: 0, tidied: 0 } as const;

const CREATION = '^{"kind":"task"';
const START_OF_SHIP = '"kind":"internal:step-start".*"name":"ship"';
const COMPLETED = '"state":"completed"';
const CHUNK = '"text":"5 "';
const QUESTION = '"kind":"internal:ask"';
const ANSWER = '"kind":"internal:message"';
const WAITS = '"state":"input-required"';
const CANCEL_NOTE = '"kind":"internal:cancel"';
const CANCELED = '"state":"canceled"';

const ROWS: readonly Row[] = [
  // Either the task was not stored, and the message is sent again; or it was stored, and has done
  // nothing.
  ["step", "before-commit", CREATION, STEP],
  ["step", "after-commit", CREATION, STEP],
  ["step", "before-commit", START_OF_SHIP, STEP],
  // The start is on disk and the body never ran, but the server cannot know that.
  ["step", "after-commit", START_OF_SHIP, { ...STEP, text: "paid, unknown", shipped: 0 }],
  ["step", "after-commit", COMPLETED, STEP],
  ["step", "before-ack", COMPLETED, STEP],
  ["step", "after-effect", "pay", STEP],
  ["step", "after-effect", "ship", { ...STEP, text: "paid, unknown" }],
  ["step", "before-result", "pay", STEP],
  ["step", "before-result", "ship", { ...STEP, text: "paid, unknown" }],

  ["stream", "before-commit", CHUNK, STREAM],
  ["stream", "after-commit", CHUNK, STREAM],
  ["stream", "before-ack", CHUNK, STREAM],
  ["stream", "before-ack", COMPLETED, STREAM],
  ["stream", "after-effect", "ship", { ...STREAM, text: counted("unknown") }],
  ["stream", "before-result", "ship", { ...STREAM, text: counted("unknown") }],

  ["ask", "before-commit", QUESTION, ASK],
  ["ask", "after-commit", QUESTION, ASK],
  ["ask", "before-ack", WAITS, ASK],
  ["ask", "before-commit", ANSWER, ASK],
  ["ask", "after-commit", ANSWER, ASK],
  ["ask", "before-ack", COMPLETED, ASK],
  ["ask", "after-effect", "ship", { ...ASK, text: "May I? yes: unknown" }],
  ["ask", "before-result", "ship", { ...ASK, text: "May I? yes: unknown" }],

  ["cancel", "before-commit", CANCEL_NOTE, { ...CANCEL, tidied: "either" }],
  // From here on the cancellation is recorded: the task does not run again.
  ["cancel", "after-commit", CANCEL_NOTE, CANCEL],
  ["cancel", "after-effect", "tidy-up", { ...CANCEL, tidied: 1 }],
  ["cancel", "before-result", "wait", CANCEL],
  ["cancel", "before-commit", CANCELED, { ...CANCEL, tidied: "either" }],
  ["cancel", "after-commit", CANCELED, { ...CANCEL, tidied: "either" }],
  ["cancel", "before-ack", CANCELED, { ...CANCEL, tidied: "either" }],
];

let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start();
});
afterAll(() => receiver.stop());

describe.concurrent("a server that is killed", () => {
  for (const [scenario, at, on, outcome] of rowsOfTheDay(ROWS)) {
    const title = `${at} (${on}) in "${scenario}" loses nothing and does nothing twice`;
    verifies(
      ["G1", "G2", "G3", "G6", "G10"],
      title,
      () => survives(scenario, { at, on }, outcome),
      60_000,
    );
  }
});

async function survives(scenario: Scenario, plan: CrashPlan, outcome: Outcome): Promise<void> {
  const server = aCrashingServer(receiver.url, plan);
  try {
    const caller = new Caller(server, `${scenario} ${plan.at} ${plan.on}`, scenario);

    await PLAY[scenario](caller);
    // A client that sends the same messageId again gets the whole stream.
    const late = new Caller(server, caller.messageId, scenario);
    await late.follow();
    await server.url();

    expect(server.crashes).toEqual(["SIGKILL"]);
    const [stored, ...others] = await server.stored();
    expect(others).toEqual([]);
    checkLog(stored!, outcome);
    checkFrames(stored!, caller);
    if (scenario !== "ask") checkFrames(stored!, late);
    checkEffects(await effectsOf(caller.messageId), outcome);
  } finally {
    await server.close();
  }
}

/** What a client does in each scenario, across any restart of the server. */
const PLAY: Readonly<Record<Scenario, (caller: Caller) => Promise<unknown>>> = {
  step: async (caller) => {
    await caller.send();
    await caller.follow();
  },
  stream: (caller) => caller.follow(),
  ask: async (caller) => {
    await caller.follow();
    await Promise.all([caller.answer(caller.taskId!, "yes"), caller.follow()]);
  },
  cancel: async (caller) => {
    const followed = caller.follow();
    await caller.until((event) => JSON.stringify(event).includes('"waiting"'));
    await caller.cancel(caller.taskId!);
    await followed;
  },
};

/**
 * The log has no gap and no duplicate, ends with its one terminal status, and equals what the agent
 * wrote.
 */
function checkLog({ record, log }: StoredTask, { state, text }: Outcome): void {
  const events = log.map(({ event }) => event);
  const folded = foldLog(log);

  expect(log.map(({ id }) => id)).toEqual(log.map((_, index) => index + 1));
  expect(record).toMatchObject({ head: log.length, state });
  expect(events.filter(isEnd)).toEqual([events.at(-1)]);
  expect(folded.status.state).toBe(state);
  expect(textOf(folded)).toBe(text);
  expect(chunksIn(events)).toEqual([...new Set(chunksIn(events))]);
  expect(countOf(events, "task")).toBe(1);
  expect(countOf(events, "internal:ask")).toBeLessThanOrEqual(1);
  expect(countOf(events, "internal:message")).toBeLessThanOrEqual(1);
}

/** The frames of all connections together equal the log: no gap, no repeat, same order. */
function checkFrames({ log }: StoredTask, { frames }: Caller): void {
  expect(frames).toEqual(shownIn(log));
}

function checkEffects(effects: readonly Effect[], outcome: Outcome): void {
  const keys = new Set(effects.filter(({ name }) => name === "pay").map(({ key }) => key));
  const times = (wanted: string): number => effects.filter(({ name }) => name === wanted).length;

  expect(keys.size).toBe(1);
  expect(times("ship")).toBe(outcome.shipped);
  const { tidied = 0 } = outcome;
  expect(tidied === "either" ? [0, 1] : [tidied]).toContain(times("tidy-up"));
}

async function effectsOf(messageId: string): Promise<readonly Effect[]> {
  return (await receiver.effects()).filter(({ by }) => by === messageId);
}

function isEnd(event: AgentEvent): boolean {
  if (event.kind !== "status-update") return false;
  return ENDS.has((event as StatusUpdateEvent).status.state);
}

const ENDS: ReadonlySet<TaskState> = new Set(["completed", "failed", "canceled", "rejected"]);

function countOf(events: readonly AgentEvent[], kind: string): number {
  return events.filter((event) => event.kind === kind).length;
}

/** The complete text of the stream. */
function counted(became: string): string {
  const numbers = Array.from({ length: 20 }, (_, number) => `${number} `);
  return [...numbers.slice(0, 10), `(${became}) `, ...numbers.slice(10)].join("");
}
