import {
  type AgentEvent,
  type InternalEvent,
  type StatusUpdateEvent,
  isTerminal,
  textOf,
} from "@convoke/protocol";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { verifies } from "../verifies.ts";
import { aCrashingServer, rowsOfTheDay } from "./a-crashing-server.ts";
import { Caller } from "../harness/caller.ts";
import type { CrashPlan, CrashPoint } from "./crash-point.ts";
import { ModelServer } from "./model-server.ts";
import { Receiver } from "../harness/receiver.ts";
import type { StoredTask } from "../harness/stored-tasks.ts";
import { foldLog, shownIn } from "../harness/task-log.ts";
import { type Tale, type ToolName, toldInAll } from "./tale.ts";

/** A count, or a range if it depends on the instant of the crash. */
type Count = number | readonly [least: number, most: number];

/** The parts of the final state that differ by point of the crash. */
interface Outcome {
  /** How often the model was called for each of its four answers. Default: once each. */
  readonly asked?: readonly Count[];
  /** How often each tool had its effect. Default: once each. */
  readonly done?: Readonly<Partial<Record<ToolName, Count>>>;
  /** The crash interrupted a call that may not run again: the model gets a text that says so. */
  readonly isShipUnknown?: true;
}

type Row = readonly [during: string, at: CrashPoint, on: string, outcome?: Outcome];

/** The tool that may not run again comes last, so that no row's commit also contains its start. */
const CALLS: Tale["calls"] = [["pay"], ["refund"], ["ship"]];
const UNKNOWN =
  "Unknown: a crash cut this call; it may or may not have done its work. Check before you repeat it.";

const CREATION = '^{"kind":"task"';
const FIRST_CALL = '"kind":"internal:llm-call","iteration":1';
/** The first chunk with its number. Words that arrive together are one chunk, and so may be those after it. */
const FIRST_CHUNK = '"text":"(?:Answer )?1: ';
const FIRST_RESULT = '"kind":"internal:llm-result","iteration":1';
const LAST_RESULT = '"kind":"internal:llm-result","iteration":4';
const REQUESTED = '"kind":"internal:approval-requested"';
const WAITS = '"state":"input-required"';
const ANSWER = '"kind":"internal:message"';
const DECIDED = '"kind":"internal:approval-decided"';
const COMPLETED = '"state":"completed"';

const start = (tool: ToolName): string => `"kind":"internal:tool-start","toolName":"${tool}"`;
const end = (tool: ToolName): string => `"kind":"internal:tool-complete","toolName":"${tool}"`;

const PERHAPS_TWICE: Count = [1, 2];
const FIRST_PERHAPS: Outcome = { asked: [PERHAPS_TWICE, 1, 1, 1] };
const SECOND_PERHAPS: Outcome = { asked: [1, PERHAPS_TWICE, 1, 1] };
const THIRD_PERHAPS: Outcome = { asked: [1, 1, PERHAPS_TWICE, 1] };
const FOURTH_PERHAPS: Outcome = { asked: [1, 1, 1, PERHAPS_TWICE] };

const ROWS: readonly Row[] = [
  // It has done nothing yet, and starts.
  ["the model call", "after-commit", CREATION],
  // Whether the request was already sent depends on timing.
  ["the model call", "before-commit", FIRST_CALL, FIRST_PERHAPS],
  ["the model call", "after-commit", FIRST_CALL, FIRST_PERHAPS],
  // An incomplete answer is requested again; how much of it shares a commit depends on timing.
  ["the model call", "before-commit", FIRST_CHUNK, { asked: [2, 1, 1, 1] }],
  ["the model call", "after-commit", FIRST_CHUNK, FIRST_PERHAPS],
  ["the model call", "before-ack", FIRST_CHUNK, { ...FIRST_PERHAPS, done: { pay: PERHAPS_TWICE } }],
  ["the model call", "before-commit", FIRST_RESULT, { asked: [2, 1, 1, 1] }],
  // An answer in the journal is not requested again.
  ["the model call", "after-commit", FIRST_RESULT],
  ["the model call", "after-commit", LAST_RESULT],
  ["the model call", "before-ack", COMPLETED],

  ["a tool", "after-commit", start("pay")],
  ["a tool", "after-effect", "pay", { done: { pay: 2 } }],
  // The model may have been called again before the result was on disk, or right after it.
  ["a tool", "before-result", "pay", { ...SECOND_PERHAPS, done: { pay: 2 } }],
  ["a tool", "after-commit", end("pay"), SECOND_PERHAPS],
  ["a tool", "before-commit", start("ship"), { ...THIRD_PERHAPS, done: { refund: PERHAPS_TWICE } }],
  ["a tool", "after-effect", "ship", { isShipUnknown: true }],
  ["a tool", "before-result", "ship", { ...FOURTH_PERHAPS, isShipUnknown: true }],
  ["a tool", "after-commit", end("ship"), FOURTH_PERHAPS],

  ["an approval", "before-commit", REQUESTED, { ...SECOND_PERHAPS, done: { pay: PERHAPS_TWICE } }],
  ["an approval", "after-commit", REQUESTED],
  ["an approval", "before-ack", WAITS],
  ["an approval", "before-commit", ANSWER],
  ["an approval", "after-commit", ANSWER],
  ["an approval", "before-commit", DECIDED],
  ["an approval", "after-commit", DECIDED],
  ["an approval", "after-effect", "refund", { done: { refund: 2 } }],
  ["an approval", "before-result", "refund", { ...THIRD_PERHAPS, done: { refund: 2 } }],
];

let receiver: Receiver;
let model: ModelServer;
beforeAll(async () => {
  [receiver, model] = await Promise.all([Receiver.start(), ModelServer.start()]);
});
afterAll(() => Promise.all([receiver.stop(), model.stop()]));

describe.concurrent("a server that is killed during", () => {
  for (const [during, at, on, outcome = {}] of rowsOfTheDay(ROWS)) {
    verifies(
      ["G3", "G6", "G11", "R113"],
      `${during}, ${at} (${on}), reaches the same end and repeats no finished work`,
      () => survives({ at, on }, outcome),
      60_000,
    );
  }
});

async function survives(plan: CrashPlan, outcome: Outcome): Promise<void> {
  // The model counts by id, and a test that is run again counts from zero.
  const tale: Tale = { id: `${plan.at} ${plan.on} ${randomUUID()}`, calls: CALLS, pauseMs: 60 };
  const server = aCrashingServer(receiver.url, plan, model.spec);
  try {
    const caller = new Caller(server, tale.id, JSON.stringify(tale));

    await caller.follow();
    const asking = caller.task;
    expect(asking.status).toMatchObject({ state: "input-required" });
    const approve = openApprovals(asking).map((approval) => answerTo(approval, { option: "once" }));
    await Promise.all([caller.answer(caller.taskId!, approve), caller.follow()]);
    await server.url();

    expect(server.crashes).toEqual(["SIGKILL"]);
    const [stored, ...rest] = await server.stored();
    expect(rest).toEqual([]);
    checkLog(stored!, toldInAll(tale, resultsOf(outcome)));
    expect(caller.frames).toEqual(shownIn(stored!.log));
    await checkRequests(tale, outcome);
    await checkEffects(stored!, outcome);
  } finally {
    await server.close();
  }
}

function resultsOf({ isShipUnknown }: Outcome): readonly string[] {
  return ["paid 0", "refunded 10", isShipUnknown === true ? UNKNOWN : "shipped"];
}

/** The log has no gap and one end, produces the correct answer, and records each result once. */
function checkLog({ record, log }: StoredTask, text: string): void {
  const events = log.map(({ event }) => event);
  const task = foldLog(log);

  expect(log.map(({ id }) => id)).toEqual(log.map((_, index) => index + 1));
  expect(record).toMatchObject({ head: log.length, state: "completed" });
  expect(events.filter(isEnd)).toEqual([events.at(-1)]);
  expect(textOf(task)).toBe(text);
  expect(notes(events, "internal:llm-result").map(({ iteration }) => iteration)).toEqual([
    1, 2, 3, 4,
  ]);
  expect(notes(events, "internal:tool-complete").map(({ toolName }) => toolName)).toEqual([
    "pay",
    "refund",
    "ship",
  ]);
  expect(notes(events, "internal:checkpoint").map(({ iteration }) => iteration)).toEqual([
    1, 2, 3, 4,
  ]);
  for (const kind of ["approval-requested", "approval-decided", "ask", "message"] as const) {
    expect(notes(events, `internal:${kind}`)).toHaveLength(1);
  }
}

/** The provider was called for each answer once, unless the crash interrupted it. */
async function checkRequests({ id }: Tale, { asked = [1, 1, 1, 1] }: Outcome): Promise<void> {
  const requests = (await model.requests()).filter((request) => request.id === id);
  for (const [place, count] of asked.entries()) {
    expectCount(requests.filter(({ answers }) => answers === place).length, count);
  }
  expect(requests.every(({ answers }) => answers < asked.length)).toBe(true);
}

/** Repeatable calls had the same key each time; the others ran at most once. */
async function checkEffects({ record }: StoredTask, { done = {} }: Outcome): Promise<void> {
  const effects = (await receiver.effects()).filter(({ by }) => by === record.taskId);
  for (const [name] of CALLS as readonly (readonly [ToolName])[]) {
    const same = effects.filter((effect) => effect.name === name);
    expectCount(same.length, done[name] ?? 1);
    if (name !== "ship") expect(new Set(same.map(({ key }) => key)).size).toBe(1);
  }
}

function expectCount(found: number, wanted: Count): void {
  const [least, most] = typeof wanted === "number" ? [wanted, wanted] : wanted;
  expect(found).toBeGreaterThanOrEqual(least);
  expect(found).toBeLessThanOrEqual(most);
}

function notes(events: readonly AgentEvent[], kind: string): readonly InternalEvent[] {
  return events.filter((event): event is InternalEvent => event.kind === kind);
}

function isEnd(event: AgentEvent): boolean {
  return event.kind === "status-update" && isTerminal((event as StatusUpdateEvent).status.state);
}
