import { expect, expectTypeOf, test } from "vitest";
import { applyEvent } from "./events.ts";
import { aTask } from "../testing/arbitraries.suite.ts";
import type {
  A2AArtifact,
  A2ADataPart,
  A2AFilePart,
  A2APart,
  A2ATextPart,
  AgentEvent,
  ArtifactUpdateEvent,
  InternalEvent,
  StatusUpdateEvent,
  TaskEvent,
  TaskStatus,
} from "../index.ts";
import { isResumable } from "./journal.ts";

const AT = "2026-01-31T12:00:00.000Z";

/** The fields of each kind of event, by narrowing alone. */
function describeEvent(event: AgentEvent): string {
  switch (event.kind) {
    case "task":
      expectTypeOf(event).toEqualTypeOf<TaskEvent>();
      return event.status.state;
    case "status-update":
      expectTypeOf(event).toEqualTypeOf<StatusUpdateEvent>();
      expectTypeOf(event.status).toEqualTypeOf<TaskStatus>();
      return event.status.state;
    case "artifact-update":
      expectTypeOf(event).toEqualTypeOf<ArtifactUpdateEvent>();
      expectTypeOf(event.artifact).toEqualTypeOf<A2AArtifact>();
      return event.artifact.parts.map(describePart).join();
    case "internal:llm-call":
      expectTypeOf(event.iteration).toBeNumber();
      return `call ${event.iteration} at ${event.timestamp}`;
    case "internal:tool-start":
      expectTypeOf(event.toolName).toBeString();
      return `${event.toolName} ${event.toolCallId}`;
    case "internal:tool-complete":
      expectTypeOf(event.success).toBeBoolean();
      return `${event.toolCallId} ${event.success ? "done" : "failed"}`;
    case "internal:checkpoint":
      return `checkpoint ${event.iteration}`;
    case "internal:step-end":
      return event.error?.message ?? event.name;
    default:
      return event.kind;
  }
}

function describePart(part: A2APart): string {
  switch (part.kind) {
    case "text":
      expectTypeOf(part).toEqualTypeOf<A2ATextPart>();
      return part.text;
    case "file":
      expectTypeOf(part).toEqualTypeOf<A2AFilePart>();
      return part.file.name ?? "file";
    case "data":
      expectTypeOf(part).toEqualTypeOf<A2ADataPart>();
      return JSON.stringify(part.data);
    default:
      return part satisfies never;
  }
}

test("a switch over the kind of an event narrows its fields", () => {
  const call = { taskId: "t1", toolCallId: "c1", timestamp: AT };
  const events: readonly AgentEvent[] = [
    aTask(),
    { kind: "internal:llm-call", taskId: "t1", iteration: 1, timestamp: AT },
    { kind: "internal:tool-start", ...call, toolName: "search" },
    { kind: "internal:tool-complete", ...call, success: true },
    { kind: "internal:checkpoint", taskId: "t1", iteration: 1, timestamp: AT },
    { kind: "internal:acme/position", taskId: "t1", line: 7 },
  ];

  expect(events.map(describeEvent)).toEqual([
    aTask().status.state,
    `call 1 at ${AT}`,
    "search c1",
    "c1 done",
    "checkpoint 1",
    "internal:acme/position",
  ]);
});

test("internal events do not change the task", () => {
  const call: InternalEvent = {
    kind: "internal:llm-call",
    taskId: "t1",
    iteration: 1,
    timestamp: AT,
  };

  expect(applyEvent(aTask(), call)).toEqual(aTask());
});

test("an event declares whether its turn can be resumed", () => {
  const position = { kind: "internal:acme/position", taskId: "t1" } as const;

  expect(isResumable(position)).toBe(false);
  expect(isResumable({ ...position, resumable: true })).toBe(true);
  expect(isResumable({ kind: "internal:sleep", taskId: "t1", resumable: false })).toBe(false);
});

test("events of earlier versions, which do not declare it, are recognized by their kind", () => {
  const resumable = ["step-start", "step-end", "ask", "sleep", "llm-call", "remote-task"] as const;
  const others = [
    "message",
    "attempt",
    "turn-end",
    "tool-start",
    "checkpoint",
    "toString",
  ] as const;

  for (const name of resumable) {
    expect(isResumable({ kind: `internal:${name}`, taskId: "t1" })).toBe(true);
  }
  for (const name of others) {
    expect(isResumable({ kind: `internal:${name}`, taskId: "t1" })).toBe(false);
  }
});
