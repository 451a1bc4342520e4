import { expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { type AgentEvent, isFinal, isPublic } from "./events.ts";
import { isMessageReceived } from "./journal.ts";
import { TASK_STATES } from "./task.ts";
import { aChunk, aMessage, aStatusUpdate, aTask } from "../testing/arbitraries.suite.ts";

verifies(
  ["R38"],
  "an interaction ends with a terminal state or a question, not with auth-required",
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

test("clients see everything except internal events", () => {
  const timestamp = "2026-01-31T12:00:00.000Z";
  const call = { taskId: "t1", toolName: "search", toolCallId: "call-1", timestamp };
  const note: AgentEvent = { kind: "internal:tool-start", ...call };
  const received: AgentEvent = {
    kind: "internal:message",
    taskId: "t1",
    message: aMessage(),
    timestamp,
  };

  expect([aTask(), aMessage(), aStatusUpdate("working"), aChunk("a")].every(isPublic)).toBe(true);
  expect([note, received].some(isPublic)).toBe(false);
  expect([note, received, aMessage()].filter(isMessageReceived)).toEqual([received]);
});
