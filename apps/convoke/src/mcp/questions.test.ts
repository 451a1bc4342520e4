import {
  type A2APart,
  type Approval,
  type Task,
  type TaskState,
  agentMessage,
} from "@convoke/protocol";
import { expect, test } from "vitest";
import { approvalForm } from "./elicitations.ts";
import { pendingRequests } from "./questions.ts";

/** What a host should ask when a task waits with these parts. */
function askedWith(parts: readonly A2APart[], state: TaskState = "input-required") {
  const message = agentMessage("m", parts);
  const task: Task = { kind: "task", id: "t", contextId: "c", status: { state, message } };
  const kind = state === "auth-required" ? state : "input-required";
  const text = parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
  const question = { kind, text, message, taskId: "t", contextId: "c" } as const;
  return pendingRequests({ text, task, question }, new Date());
}

const approval: Approval = {
  id: "a1",
  tool: { callId: "c1", name: "write", arguments: { path: "a.txt" } },
  digest: "sha-256:x",
  title: "Write a.txt",
  risk: "danger",
  options: ["once", "reject", "edit"],
  createdAt: "2026-01-31T12:00:00Z",
};

test.each([
  { sensitive: true },
  { inputRequest: { kind: "input-request", prompt: "PIN?", sensitive: true } },
])("a third-party agent that says %j asks for a secret", (data) => {
  const parts: readonly A2APart[] = [
    { kind: "text", text: "PIN?" },
    { kind: "data", data },
  ];

  expect(askedWith(parts)).toEqual([{ kind: "secret", id: "answer", text: "PIN?" }]);
});

test("the sign-in URL is in the data or in the text, and is a web address", () => {
  const text = { kind: "text", text: "Go to https://a.example/x now." } as const;
  const data = { kind: "data", data: { where: { url: "https://b.example/" } } } as const;
  const code = { kind: "data", data: { url: "javascript:alert(1)" } } as const;

  const urls = [[text], [text, data], [code]].map((parts) => askedWith(parts, "auth-required"));

  expect(urls).toMatchObject([
    [{ kind: "sign-in", url: "https://a.example/x" }],
    [{ kind: "sign-in", url: "https://b.example/" }],
    [{ kind: "sign-in", url: undefined }],
  ]);
});

test("a form for an approval shows what runs, with its arguments and its risk", () => {
  const form = approvalForm(approval);

  expect(form?.message).toBe(
    'Approve: Write a.txt?\nRisk: danger\nTool: write\nArguments: {\n  "path": "a.txt"\n}',
  );
  expect(form?.requestedSchema.properties["decision"]).toMatchObject({
    oneOf: [{ const: "once" }, { const: "reject" }],
  });
});

test("a form that could not show everything, or offers nothing, is not used for a decision", () => {
  const long = { ...approval.tool, arguments: { text: "x".repeat(30_000) } };

  expect(approvalForm({ ...approval, tool: long })).toBeUndefined();
  expect(approvalForm({ ...approval, options: ["edit"] })).toBeUndefined();
});
