import { expect, test } from "vitest";
import { verifies } from "../../../test/verifies.ts";
import { isFinal, isMessageReceived, isPublic } from "./events.ts";
import { TASK_STATES } from "./task.ts";
import { aChunk, aMessage, aStatusUpdate, aTask } from "./testing/arbitraries.suite.ts";

verifies(
  ["R38"],
  "an interaction ends with a terminal state or a question, not with a login",
  () => {
    expect(TASK_STATES.filter(isFinal)).toEqual([
      "input-required",
      "completed",
      "canceled",
      "failed",
      "rejected",
    ]);
  },
);

test("clients see everything but what an agent notes for itself", () => {
  const note = { kind: "internal:tool-start", taskId: "t1" } as const;
  const timestamp = "2026-01-31T12:00:00.000Z";
  const received = {
    kind: "internal:message",
    taskId: "t1",
    message: aMessage(),
    timestamp,
  } as const;

  expect([aTask(), aMessage(), aStatusUpdate("working"), aChunk("a")].every(isPublic)).toBe(true);
  expect([note, received].some(isPublic)).toBe(false);
  expect([note, received, aMessage()].filter(isMessageReceived)).toEqual([received]);
});
