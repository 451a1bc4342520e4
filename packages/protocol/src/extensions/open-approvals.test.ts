import { expect, test } from "vitest";
import type { Message } from "../model/message.ts";
import type { Task, TaskState } from "../model/task.ts";
import { approvalsIn, openApprovals } from "./approvals.ts";

const URI = "https://convoke.dev/extensions/approvals/v1";
const NOW = new Date("2026-01-31T12:00:00Z");

function anApproval(id: string, more: object = {}): object {
  return { id, tool: { callId: "c1", name: "delete", arguments: {} }, ...more };
}

function aQuestion(data: readonly unknown[], metadata?: Message["metadata"]): Message {
  const parts = data.map((one) => ({
    kind: "data" as const,
    data: one,
    metadata: { [URI]: { type: "approval-request" } },
  }));
  return { kind: "message", messageId: "q1", role: "agent", parts, ...(metadata && { metadata }) };
}

function idsOf(message: Message, state: TaskState = "input-required"): readonly string[] {
  const task: Task = { kind: "task", id: "t1", contextId: "x1", status: { state, message } };
  return openApprovals(task, NOW).map(({ id }) => id);
}

test("the pending approvals of a task are in the parts or in the metadata of its question", () => {
  const metadata = { [URI]: { requests: [anApproval("b")] } };

  expect(idsOf(aQuestion([anApproval("a")], metadata))).toEqual(["a", "b"]);
  expect(approvalsIn(aQuestion([anApproval("a")], metadata))).toMatchObject({
    inParts: [{ id: "a" }],
    inMetadata: [{ id: "b" }],
  });
});

test("approvals that are decided or expired, or of a task that continued, are not pending", () => {
  const decision = { outcome: "approved", decidedAt: NOW.toISOString() };

  expect(idsOf(aQuestion([anApproval("a", { decision })]))).toEqual([]);
  expect(idsOf(aQuestion([anApproval("a", { expiresAt: "2026-01-31T12:00:00Z" })]))).toEqual([]);
  expect(idsOf(aQuestion([anApproval("a", { expiresAt: "2026-01-31T12:00:01Z" })]))).toEqual(["a"]);
  expect(idsOf(aQuestion([anApproval("a")]), "working")).toEqual([]);
});

test.each([undefined, null, 7, "a", {}, { requests: "a" }, { requests: [null, 7, { id: 7 }] }])(
  "invalid ones are omitted: %j",
  (given) => {
    expect(idsOf(aQuestion([given], { [URI]: given }))).toEqual([]);
  },
);
