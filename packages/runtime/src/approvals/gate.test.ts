import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { runTool } from "../loop/run-tool.ts";
import { tool } from "../tools/tool.ts";
import { type ApprovalDecidedEvent, type GatedCall, digestArguments, mayRun } from "./gate.ts";
import type { ApprovalOutcome } from "@convoke/protocol";

const ARGUMENTS = { path: "a.txt" };

function aCall(overrides: Partial<GatedCall> = {}): GatedCall {
  return { toolCallId: "c1", digest: digestArguments(ARGUMENTS), isGuarded: true, ...overrides };
}

function aDecision(overrides: Partial<ApprovalDecidedEvent> = {}): ApprovalDecidedEvent {
  return {
    kind: "internal:approval-decided",
    taskId: "t1",
    approvalId: "a1",
    toolCallId: "c1",
    toolName: "delete",
    digest: digestArguments(ARGUMENTS),
    outcome: "approved",
    decidedAt: "2026-01-31T12:00:00Z",
    ...overrides,
  };
}

describe("a guarded call", () => {
  test("runs with a decision that approves it with these arguments", () => {
    expect(mayRun(aCall(), [aDecision()])).toBe(true);
  });

  test("does not run without a decision, nor with one for another call or other arguments", () => {
    expect(mayRun(aCall(), [])).toBe(false);
    expect(mayRun(aCall(), [aDecision({ toolCallId: "c2" })])).toBe(false);
    expect(mayRun(aCall(), [aDecision({ digest: digestArguments({ path: "b" }) })])).toBe(false);
  });

  test.each<ApprovalOutcome>(["rejected", "expired", "superseded"])(
    "that is %s does not run",
    (outcome) => {
      expect(mayRun(aCall(), [aDecision({ outcome })])).toBe(false);
    },
  );
});

test("an unguarded call runs", () => {
  expect(mayRun(aCall({ isGuarded: false }), [])).toBe(true);
});

verifies("G11", "the body of a guarded tool does not start without its decision", async () => {
  let runs = 0;
  const guarded = tool({ name: "delete", description: "Deletes.", run: () => (runs += 1) });
  const run = (call: GatedCall, decisions: readonly ApprovalDecidedEvent[]) =>
    runTool(guarded, {
      call,
      decisions,
      input: ARGUMENTS,
      context: {
        taskId: "t1",
        contextId: "x1",
        toolCallId: "c1",
        key: "k",
        caller: { owner: "ann" },
        trace: {
          traceId: "0af7651916cd43dd8448eb211c80319c",
          traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        },
        answers: new Map(),
        credentials: new Map(),
      },
      signal: new AbortController().signal,
      outputLimit: 100,
      sink: { take: () => undefined, room: () => undefined },
    });

  expect(await run(aCall(), [])).toMatchObject({
    kind: "error",
    text: "Tool delete failed: the call is not approved",
  });
  expect(await run(aCall(), [aDecision({ digest: "sha-256:other" })])).toMatchObject({
    kind: "error",
  });
  expect(runs).toBe(0);
  expect(await run(aCall(), [aDecision()])).toEqual({ kind: "result", value: 1 });
});
