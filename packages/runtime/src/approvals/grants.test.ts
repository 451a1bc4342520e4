import {
  type Approval,
  EXTENSIONS,
  type Message,
  agentMessage,
  userMessage,
} from "@convoke/protocol";
import { MemoryValues } from "@convoke/engine/memory";
import { expect, test } from "vitest";
import { askApproval } from "./gate.ts";
import { AgentGrantStore, grantedIn, memoryGrants } from "./grants.ts";
import { markedPart } from "./open-request.ts";
import { withApprovals } from "./question-message.ts";

const now = new Date("2026-01-31T12:00:00Z");
const approval = askApproval({
  id: "a1",
  toolCallId: "c1",
  toolName: "delete",
  arguments: { path: "a" },
  words: {},
  now,
});
const taken: Approval = {
  ...approval,
  decision: { outcome: "approved", option: "conversation", decidedAt: now.toISOString() },
};

function answered(option = "conversation", digest = approval.digest): Message {
  const data = { approvalId: "a1", digest, option };
  return userMessage("m1", [markedPart(EXTENSIONS.approvals.uri, "approval-answer", data)]);
}

function noted(messageId = "t1-1-1-grant-1", given: Approval = taken, isPlain = false): Message {
  return withApprovals(agentMessage(messageId, []), { approvals: [given], isPlain });
}

test("a tool is granted if the caller answered so and the loop accepted the answer", () => {
  expect([...grantedIn([answered(), noted()])]).toEqual(["delete"]);
  expect([...grantedIn([answered(), noted(undefined, taken, true)])]).toEqual(["delete"]);
});

test("neither alone is enough, nor is other output of an agent, nor another answer", () => {
  expect([...grantedIn([answered()])]).toEqual([]);
  expect([...grantedIn([noted()])]).toEqual([]);
  // Output of a tool, possibly from a remote agent, has another id.
  expect([...grantedIn([answered(), noted("t1-answer")])]).toEqual([]);
  expect([...grantedIn([answered("once"), noted()])]).toEqual([]);
  // It is in the store, where it can be taken back.
  expect([...grantedIn([answered("always"), noted()])]).toEqual([]);
  expect([...grantedIn([answered("conversation", "sha-256:other"), noted()])]).toEqual([]);
  expect([...grantedIn([answered(), noted(undefined, approval)])]).toEqual([]);
});

test("a permanent grant applies to one agent, one caller and one tool", async () => {
  const grants = memoryGrants();
  const grant = { agent: "A", owner: "ann", toolName: "delete" };
  await grants.add(grant);

  expect(await grants.isGranted(grant)).toBe(true);
  expect(await grants.isGranted({ ...grant, owner: "eve" })).toBe(false);
  expect(await grants.isGranted({ ...grant, agent: "B" })).toBe(false);
  expect(await grants.isGranted({ ...grant, toolName: "write" })).toBe(false);
});

test("grants that processes share are listed and taken back for all of them", async () => {
  const { open: values } = new MemoryValues();
  const [one, other] = [new AgentGrantStore(undefined), new AgentGrantStore(undefined)];
  for (const store of [one, other]) store.prepare({ values });
  const grant = { agent: "A", owner: "ann", toolName: "delete" };
  await one.add(grant);

  expect(await other.of("A").list()).toMatchObject([{ owner: "ann", toolName: "delete" }]);
  expect(await other.of("B").list()).toEqual([]);
  expect(await other.of("A").remove(grant)).toBe(true);

  expect(await one.isGranted(grant)).toBe(false);
  expect(await one.of("A").remove(grant)).toBe(false);
});
