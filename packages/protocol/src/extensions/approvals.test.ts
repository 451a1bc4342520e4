import { describe, expect, test } from "vitest";
import {
  type Approval,
  type ApprovalAnswer,
  answerApproval,
  checkApproval,
  checkApprovalAnswer,
  digestArguments,
} from "./approvals.ts";

const FIELD = "message.parts[0].data";
const NOW = new Date("2026-01-31T12:00:00Z");
const ARGUMENTS = { path: "a.txt", lines: 3 };
const DIGEST = await digestArguments(ARGUMENTS);

function anApproval(overrides: Partial<Approval> = {}): Approval {
  return {
    id: "a1",
    tool: { callId: "c1", name: "delete", arguments: ARGUMENTS },
    digest: DIGEST,
    title: "Delete a.txt",
    risk: "danger",
    options: ["once", "reject", "edit"],
    createdAt: "2026-01-31T11:00:00Z",
    ...overrides,
  };
}

function anAnswer(overrides: object = {}): ApprovalAnswer {
  return { approvalId: "a1", digest: DIGEST, option: "once", ...overrides };
}

function decide(answer: ApprovalAnswer, approval: Approval | undefined = anApproval()) {
  return answerApproval(approval, { answer, field: FIELD, by: "ann", now: NOW });
}

describe("the digest of arguments", () => {
  test("does not depend on the order in which they are written", async () => {
    expect(await digestArguments({ lines: 3, path: "a.txt" })).toBe(DIGEST);
    expect(DIGEST).toMatch(/^sha-256:[\w-]{43}$/);
  });

  test("differs for different arguments", async () => {
    expect(await digestArguments({ ...ARGUMENTS, lines: 4 })).not.toBe(DIGEST);
  });
});

describe("an approval", () => {
  test("is accepted with all optional fields", () => {
    const whole = anApproval({
      prompt: "The file cannot be brought back.",
      preview: { kind: "diff", path: "a.txt", before: "one\n" },
      expiresAt: "2026-02-01T00:00:00.000Z",
      decision: { outcome: "superseded", decidedAt: "2026-01-31T11:30:00Z" },
    });

    expect(checkApproval(whole, "data")).toEqual(whole);
    expect(
      checkApproval(anApproval({ preview: { kind: "text", text: "rm" } }), "data"),
    ).toBeTruthy();
  });

  test.each<[object, string]>([
    [{ id: "" }, "data.id must not be empty"],
    [{ risk: "high" }, "data.risk must be one of info, warning, danger"],
    [{ options: [] }, "data.options must not be empty"],
    [{ options: ["yes"] }, "data.options[0] must be one of once, conversation, always, reject"],
    [{ digest: "md5:x" }, "data.digest"],
    [{ title: undefined }, "data.title"],
    [{ tool: { callId: "c1", name: "x" } }, "data.tool.arguments is required"],
    [{ preview: { kind: "picture" } }, "data.preview.kind must be one of text, diff"],
    [{ preview: { kind: "diff" } }, "data.preview.path is required"],
    [{ preview: { kind: "text" } }, "data.preview.text is required"],
    [{ createdAt: "yesterday" }, "data.createdAt must be a time in UTC"],
    [{ expiresAt: "2026-01-31T12:00:00" }, "data.expiresAt must be a time in UTC"],
  ])("with %j is rejected: %s", (overrides, problem) => {
    const broken = JSON.parse(JSON.stringify({ ...anApproval(), ...overrides })) as unknown;

    expect(() => checkApproval(broken, "data")).toThrow(problem);
  });
});

describe("the form of an answer", () => {
  test("is accepted unchanged", () => {
    const answer = anAnswer({ option: "reject", feedback: "not that one" });

    expect(checkApprovalAnswer(answer, FIELD)).toEqual(answer);
  });

  test.each<[object, string]>([
    [{ approvalId: undefined }, `${FIELD}.approvalId is required`],
    [{ digest: "x" }, `${FIELD}.digest`],
    [{ option: "approved" }, `${FIELD}.option must be one of once`],
    [{ arguments: [] }, `${FIELD}.arguments must be an object`],
    [{ feedback: 1 }, `${FIELD}.feedback must be a string`],
  ])("with %j is rejected: %s", (overrides, problem) => {
    const broken = JSON.parse(JSON.stringify({ ...anAnswer(), ...overrides })) as unknown;

    expect(() => checkApprovalAnswer(broken, FIELD)).toThrow(problem);
  });
});

describe("an answer", () => {
  test("that approves or rejects is the decision, with who and when", () => {
    const by = { decidedBy: "ann", decidedAt: NOW.toISOString() };

    expect(decide(anAnswer())).toEqual({ outcome: "approved", option: "once", ...by });
    expect(decide(anAnswer({ option: "reject", feedback: "no" }))).toEqual({
      outcome: "rejected",
      option: "reject",
      feedback: "no",
      ...by,
    });
    expect(decide(anAnswer({ option: "edit", arguments: { path: "b.txt" } })).outcome).toBe(
      "approved",
    );
  });

  test("to an approval that the task does not have is rejected", () => {
    const answering = { answer: anAnswer(), field: FIELD, by: "ann", now: NOW };

    expect(() => answerApproval(undefined, answering)).toThrow(
      `${FIELD}.approvalId "a1" is no approval of this task`,
    );
  });

  test("is accepted once: a second one is rejected, and so is one after the approval was superseded", () => {
    for (const outcome of ["approved", "rejected", "superseded", "expired"] as const) {
      const decision = { outcome, decidedAt: "2026-01-31T11:30:00Z" };

      expect(() => decide(anAnswer(), anApproval({ decision }))).toThrow(
        `is ${outcome} already, since 2026-01-31T11:30:00Z`,
      );
    }
  });

  test("is too late from the exact moment at which the approval expires", () => {
    const at = (expiresAt: string): Approval => anApproval({ expiresAt });

    expect(() => decide(anAnswer(), at("2026-01-31T12:00:00Z"))).toThrow("has expired at");
    expect(decide(anAnswer(), at("2026-01-31T12:00:00.001Z")).outcome).toBe("approved");
  });

  test("for other arguments than the pending ones is stale", async () => {
    const digest = await digestArguments({ path: "other.txt" });

    expect(() => decide(anAnswer({ digest }))).toThrow(`${FIELD}.digest is not that of the call`);
  });

  test.each<[object, string]>([
    [{ option: "always" }, `${FIELD}.option must be one of once, reject, edit`],
    [{ feedback: "fine" }, `${FIELD}.feedback goes with the option reject alone`],
    [{ option: "edit" }, `${FIELD}.arguments is required with the option edit`],
    [{ arguments: {} }, `${FIELD}.arguments goes with the option edit alone`],
  ])("with %j is rejected: %s", (overrides, problem) => {
    expect(() => decide(anAnswer(overrides))).toThrow(problem);
  });
});
