import { TASK_STATES, type TaskState, agentMessage, isTerminal } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { closesAtFinal, closesAtTerminal } from "./event-source.ts";

function aStatus(state: TaskState, final: boolean) {
  return { kind: "status-update", taskId: "t", contextId: "c", status: { state }, final } as const;
}

describe("a stream closes", () => {
  verifies("R40", "after a final status in any state", () => {
    expect(closesAtFinal(aStatus("completed", true))).toBe(true);
    expect(closesAtFinal(aStatus("input-required", true))).toBe(true);
    expect(closesAtFinal(aStatus("input-required", false))).toBe(false);
    expect(closesAtFinal(aStatus("working", false))).toBe(false);
  });

  test("after a terminal state if it outlives questions", () => {
    for (const state of TASK_STATES) {
      expect(closesAtTerminal(aStatus(state, true))).toBe(isTerminal(state));
    }
  });

  verifies("R43", "after a message, because that is the complete answer", () => {
    expect(closesAtFinal(agentMessage("m", "hello"))).toBe(true);
    expect(closesAtTerminal(agentMessage("m", "hello"))).toBe(true);
  });

  test("after nothing else", () => {
    const chunk = {
      kind: "artifact-update",
      taskId: "t",
      contextId: "c",
      artifact: { artifactId: "a", parts: [] },
      lastChunk: true,
    } as const;
    const task = { kind: "task", id: "t", contextId: "c", status: { state: "completed" } } as const;

    for (const closes of [closesAtFinal, closesAtTerminal]) {
      expect(closes(chunk)).toBe(false);
      expect(closes(task)).toBe(false);
      expect(closes({ kind: "internal:acme/note", taskId: "t", final: true })).toBe(false);
    }
  });
});
