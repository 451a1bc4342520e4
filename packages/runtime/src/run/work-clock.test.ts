import type { InternalEvent } from "@convoke/protocol";
import { expect, test } from "vitest";
import { WorkClock } from "./loop-scope.ts";

const MINUTE = 60_000;

/** The journal, each event with its minute. */
function journal(...notes: readonly (readonly [kind: string, minute?: number])[]): InternalEvent[] {
  return notes.map(([kind, minute]) => {
    const event = {
      kind: `internal:${kind}`,
      taskId: "t1",
      ...(kind === "message" && { message: {} }),
      ...(minute !== undefined && { timestamp: new Date(minute * MINUTE).toISOString() }),
    };
    return event as InternalEvent;
  });
}

function minutesWorked(notes: readonly InternalEvent[]): number {
  const clock = new WorkClock({ now: () => new Date(10_000 * MINUTE), journal: notes });
  clock.start();
  return clock.workedMs / MINUTE;
}

test("a first attempt counts from its start, without the time in which it waited", () => {
  let minute = 100;
  const clock = new WorkClock({ now: () => new Date(minute * MINUTE), journal: [] });
  expect(clock.workedMs).toBe(0);

  clock.start();
  minute = 110;
  clock.addWait(new Date(101 * MINUTE), new Date(104 * MINUTE));

  expect(clock.workedMs).toBe(7 * MINUTE);
  expect(clock.startedAt).toBeUndefined();
});

test("a wait that was answered days later in another process does not count", () => {
  const notes = journal(
    ["llm-call", 1],
    ["llm-result", 3],
    ["ask", 4],
    ["attempt", 5],
    ["message", 9000],
  );

  expect(minutesWorked(notes)).toBe(3);
});

test("a wait that is still pending does not count", () => {
  expect(minutesWorked(journal(["llm-call", 1], ["ask", 2], ["attempt", 900]))).toBe(1);
});

test("the time between a crash and the restart does not count; work before and after it does", () => {
  const notes = journal(
    ["llm-call", 1],
    ["llm-result", 2],
    ["tool-start", 3],
    ["attempt", 500],
    ["tool-start", 501],
    ["tool-complete", 503],
    ["attempt", 900],
  );

  expect(minutesWorked(notes)).toBe(5);
});

test("a restart without a time, as in older logs, counts nothing up to the next event", () => {
  const notes = journal(["llm-call", 1], ["llm-result", 2], ["attempt"], ["llm-call", 500]);

  expect(minutesWorked(notes)).toBe(1);
});

test("an expired or withdrawn question ends its wait", () => {
  for (const end of ["expired", "recalled"]) {
    const notes = journal(["llm-call", 0], ["ask", 1], [end, 50], ["llm-call", 51]);
    expect(minutesWorked(notes)).toBe(2);
  }
});
