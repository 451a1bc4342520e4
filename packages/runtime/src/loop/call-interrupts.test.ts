import { expect, test } from "vitest";
import { inputRequired } from "../tools/interrupts.ts";
import { CallInterrupts } from "./call-sink.ts";
import type { ToolInterruptEvent } from "../run/loop-events.ts";

const answer = (text: string) => ({ text, parts: [] });

function anEvent(round: number): ToolInterruptEvent {
  return {
    kind: "internal:tool-interrupt",
    taskId: "t1",
    toolName: "ask",
    toolCallId: "c1",
    round,
    interrupts: [inputRequired("More?")],
    timestamp: "2026-01-31T12:00:00Z",
  };
}

test("an answered question is no longer pending, and one that is asked again is pending again", () => {
  const interrupts = new CallInterrupts("c1");
  interrupts.ask([inputRequired("Name?"), inputRequired("Age?", { requestId: "age" })]);
  expect(interrupts.open.map(({ requestId }) => requestId)).toEqual(["c1:input", "c1:age"]);

  interrupts.answer("c1:input", answer("Ann"), Number.POSITIVE_INFINITY);
  expect(interrupts.open.map(({ requestId }) => requestId)).toEqual(["c1:age"]);
  interrupts.ask([inputRequired("Name, please?")]);

  expect(interrupts.open.map(({ requestId }) => requestId)).toEqual(["c1:input"]);
  expect([...interrupts.answers]).toEqual([]);
});

test("an answer of an earlier attempt does not answer what was asked after it", () => {
  const interrupts = new CallInterrupts("c1");
  const events = [anEvent(1), anEvent(2)];
  interrupts.load(events, { isOpen: true, placeOf: (event) => (event.round === 1 ? 10 : 20) });

  interrupts.answer("c1:input", answer("early"), 15);
  expect(interrupts.open).toHaveLength(1);
  interrupts.answer("c1:input", answer("late"), 25);

  expect(interrupts.open).toEqual([]);
  expect(interrupts.answers.get("input")?.text).toBe("late");
});

test("an answer to another call is not accepted", () => {
  const interrupts = new CallInterrupts("c1");
  interrupts.ask([inputRequired("Name?")]);

  expect(interrupts.answer("c2:input", answer("x"), 1)).toBeUndefined();
  expect(interrupts.open).toHaveLength(1);
});
