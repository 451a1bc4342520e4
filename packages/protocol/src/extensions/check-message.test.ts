import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { type Message, userMessage } from "../model/message.ts";
import { readBudget, readBudgetReport } from "./budget.ts";
import { checkExtensionData } from "./negotiation.ts";
import { declaredTools } from "./client-tools.ts";
import { EXTENSIONS, dataOfType, resumptionCursor } from "./extensions.ts";
import { chosenSkill } from "./skill.ts";

const { skill, budget, clientTools, approvals, resumption } = EXTENSIONS;

function saying(uri: string, data: unknown): Message {
  return { ...userMessage("m1", "hello"), metadata: { [uri]: data } };
}

function withPart(uri: string, type: string, data: unknown): Message {
  return userMessage("m1", [{ kind: "data", data, metadata: { [uri]: { type } } }]);
}

describe("invalid data of an active extension is rejected with its path", () => {
  for (const [uri, message, problem] of [
    [skill.uri, saying(skill.uri, {}), `message.metadata["${skill.uri}"].id is required`],
    [skill.uri, saying(skill.uri, "x"), `message.metadata["${skill.uri}"] must be an object`],
    [skill.uri, saying(skill.uri, { id: "" }), ".id must not be empty"],
    [budget.uri, saying(budget.uri, { tokens: -1 }), ".tokens"],
    [budget.uri, saying(budget.uri, { tokens: 1.5 }), ".tokens must be an integer"],
    [budget.uri, saying(budget.uri, { deadline: "soon" }), ".deadline must be a time in UTC"],
    [budget.uri, saying(budget.uri, { visited: [1] }), ".visited[0] must be a string"],
    [clientTools.uri, saying(clientTools.uri, {}), ".tools is required"],
    [clientTools.uri, saying(clientTools.uri, { tools: [{ name: "a b" }] }), ".tools[0].name"],
    [
      clientTools.uri,
      saying(clientTools.uri, { tools: [{ name: "a" }, { name: "a" }] }),
      ".tools[1].name repeats a",
    ],
    [
      clientTools.uri,
      withPart(clientTools.uri, "tool-result", { result: 1 }),
      "message.parts[0].data.toolUseId is required",
    ],
    [
      clientTools.uri,
      withPart(clientTools.uri, "tool-result", { toolUseId: "t1" }),
      "message.parts[0].data must have either result or error",
    ],
    [
      clientTools.uri,
      withPart(clientTools.uri, "tool-result", { toolUseId: "t1", result: 1, error: "x" }),
      "message.parts[0].data must have either result or error",
    ],
    [
      approvals.uri,
      withPart(approvals.uri, "approval-answer", {}),
      "message.parts[0].data.approvalId is required",
    ],
  ] as const) {
    verifies("v1-S32", `${JSON.stringify(message.metadata ?? message.parts)}`, () => {
      expect(() => checkExtensionData(message, new Set([uri]))).toThrow(problem);
    });

    verifies("v1-S32", `but not if it is not active: ${problem}`, () => {
      const others = new Set(Object.values(EXTENSIONS).map((one) => one.uri));
      others.delete(uri);

      checkExtensionData(message, others);
    });
  }
});

test("valid data is read", () => {
  const tools = [{ name: "look_up", description: "Looks up.", inputSchema: { type: "object" } }];
  const limits = {
    tokens: 1000,
    costUsd: 0.5,
    deadline: "2026-01-31T12:00:00Z",
    depth: 2,
    visited: [],
  };
  const report = { used: { tokens: 5, calls: 1 }, exceeded: "depth" };

  expect(chosenSkill(saying(skill.uri, { id: "greet" }))).toBe("greet");
  expect(declaredTools({ [clientTools.uri]: { tools } })).toEqual(tools);
  expect(readBudget({ [budget.uri]: limits })).toEqual(limits);
  expect(readBudgetReport({ [budget.uri]: report })).toEqual(report);
  expect(resumptionCursor({ [resumption.uri]: { after: "42" } })).toBe("42");
});

test("a message without extension data has none", () => {
  const message = userMessage("m1", "hello");

  expect(chosenSkill(message)).toBeUndefined();
  expect(declaredTools(undefined)).toEqual([]);
  expect(readBudget({})).toBeUndefined();
  expect(resumptionCursor(undefined)).toBeUndefined();
  checkExtensionData(message, new Set(Object.values(EXTENSIONS).map(({ uri }) => uri)));
});

test("a number is not a cursor, because a reader returns what it was given", () => {
  expect(() => resumptionCursor({ [resumption.uri]: { after: 42 } })).toThrow(
    `metadata["${resumption.uri}"].after must be a string`,
  );
});

test("parts without a marker, or with one of another kind, are ignored", () => {
  const message = userMessage("m1", [
    { kind: "text", text: "x", metadata: { [approvals.uri]: { type: "approval-answer" } } },
    { kind: "data", data: 1 },
    { kind: "data", data: 2, metadata: { [approvals.uri]: null } },
    { kind: "data", data: 3, metadata: { [approvals.uri]: { type: "approval-answer" } } },
  ]);

  expect(dataOfType(message, approvals.uri, "approval-answer")).toEqual([
    { data: 3, field: "message.parts[3].data" },
  ]);
});
