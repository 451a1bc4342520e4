import type { Approval } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { decisionsIn } from "./approval-words.ts";

function anApproval(id: string, more: Partial<Approval> = {}): Approval {
  return {
    id,
    tool: { callId: id, name: "pay", arguments: {} },
    digest: `digest-${id}`,
    title: "Pay",
    risk: "warning",
    options: ["once", "conversation", "reject"],
    createdAt: "2026-01-31T12:00:00Z",
    ...more,
  };
}

const ONE = [anApproval("a")];
const TWO = [anApproval("a"), anApproval("b")];

const decided = (typed: string, open: readonly Approval[]): unknown =>
  decisionsIn(typed, open)?.map(({ data }) => data);

describe("with one pending approval", () => {
  test.each([
    ["approve", { option: "once" }],
    [" YES ", { option: "once" }],
    ["approve conversation", { option: "conversation" }],
    ["reject", { option: "reject" }],
    ["no", { option: "reject" }],
    ["reject: too dear", { option: "reject", feedback: "too dear" }],
    ["reject too dear", { option: "reject", feedback: "too dear" }],
  ])("%j decides", (typed, decision) => {
    expect(decided(typed, ONE)).toEqual([{ approvalId: "a", digest: "digest-a", ...decision }]);
  });

  test.each(["yes, but less", "no idea", "approve the other one", "approved", "what is it?"])(
    "%j is a message",
    (typed) => {
      expect(decided(typed, ONE)).toBeUndefined();
    },
  );

  test("an option that is not offered is rejected", () => {
    expect(() => decisionsIn("approve always", ONE)).toThrow("once, conversation, reject");
  });
});

describe("with several pending approvals", () => {
  test("each is decided by its number, or all at once", () => {
    expect(decided("approve 2", TWO)).toMatchObject([{ approvalId: "b", option: "once" }]);
    expect(decided("reject 1: too dear", TWO)).toMatchObject([
      { approvalId: "a", option: "reject", feedback: "too dear" },
    ]);
    expect(decided("approve all", TWO)).toMatchObject([{ approvalId: "a" }, { approvalId: "b" }]);
    expect(decided("reject all", TWO)).toMatchObject([{ option: "reject" }, { option: "reject" }]);
  });

  test.each(["approve", "yes", "no", "reject", "approve 3", "reject too dear", "approve 1 please"])(
    "%j is ambiguous, and nothing is withdrawn by it",
    (typed) => {
      expect(() => decisionsIn(typed, TWO)).toThrow("2 approvals are open");
    },
  );

  test("any other text is a message", () => {
    expect(decided("what are they for?", TWO)).toBeUndefined();
  });
});

test("without a pending approval it is a message", () => {
  expect(decided("approve", [])).toBeUndefined();
});
