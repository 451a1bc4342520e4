import { type A2AArtifact, type Task, type TaskState, agentMessage } from "@convoke/protocol";
import { expect, test } from "vitest";
import { callResult } from "./call-result.ts";

function aTask(state: TaskState, artifacts: readonly A2AArtifact[] = [], words = ""): Task {
  const message = words === "" ? {} : { message: agentMessage("m", words) };
  return { kind: "task", id: "t", contextId: "c", status: { state, ...message }, artifacts };
}

const text = (words: string): A2AArtifact => ({
  artifactId: words.slice(0, 5),
  parts: [{ kind: "text", text: words }],
});

const said = (task: Task, words?: string): string =>
  (callResult({ text: "", task }, words).structuredContent as { readonly text: string }).text;

test("an answer is the text of the artifacts, else of the last message of the task", () => {
  expect(said(aTask("completed", [text("one"), text("two")], "done"))).toBe("one\ntwo");
  expect(said(aTask("completed", [], "done"))).toBe("done");
});

test("a failure is reported before partial results", () => {
  const result = callResult({ text: "", task: aTask("failed", [text("half")], "no paper") });

  expect(result.isError).toBe(true);
  expect(result.content).toEqual([
    { type: "text", text: "The task failed: no paper" },
    { type: "text", text: "half" },
    { type: "text", text: "[taskId: t, contextId: c, state: failed]" },
  ]);
});

test("a message without a task has no task id", () => {
  const message = { ...agentMessage("m", "hello"), contextId: "c" };

  expect(callResult({ text: "hello", message })).toEqual({
    content: [
      { type: "text", text: "hello" },
      { type: "text", text: "[contextId: c]" },
    ],
    structuredContent: { contextId: "c", text: "hello" },
  });
});

test("what is too long is truncated with a note, and the question after it is kept", () => {
  const long = aTask("input-required", [text("x".repeat(500_000)), text("y".repeat(10))]);

  const lines = said(long, "The agent asks: why?").split("\n");

  expect(lines[0]).toBe("x".repeat(400_000));
  expect(lines.slice(1)).toEqual([
    "[100000 more characters were left out]",
    "",
    "[10 more characters were left out]",
    "The agent asks: why?",
  ]);
});

test("a referenced file is a link if it has a web address, and nothing is fetched", () => {
  const file = (uri: string): A2AArtifact => ({
    artifactId: uri,
    name: "report",
    parts: [{ kind: "file", file: { uri, mimeType: "text/csv" } }],
  });
  const task = aTask("completed", [file("https://a.example/r.csv"), file("file:///etc/passwd")]);

  const { content } = callResult({ text: "", task });

  expect(content.slice(0, 2)).toEqual([
    { type: "resource_link", uri: "https://a.example/r.csv", name: "report", mimeType: "text/csv" },
    { type: "text", text: "[the file report (text/csv) has no web address]" },
  ]);
});
