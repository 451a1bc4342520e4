import { type A2APart, EXTENSIONS, type Task, agentMessage } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { openQuestions } from "./questions.ts";

function asking(
  parts: readonly A2APart[],
  state: Task["status"]["state"] = "input-required",
): Task {
  const status = { state, message: agentMessage("q", parts) };
  return { kind: "task", id: "t", contextId: "c", status };
}

function request(data: object): A2APart {
  return {
    kind: "data",
    data,
    metadata: { [EXTENSIONS.clientTools.uri]: { type: "input-request" } },
  };
}

describe("the questions of a task", () => {
  test("are its input requests, without those that are malformed", () => {
    const parts = [
      request({ kind: "input-request", requestId: "1", prompt: "Which?", options: ["a", "b"] }),
      request({
        kind: "auth-request",
        requestId: "2",
        prompt: "Sign in",
        url: "https://a.example/",
      }),
      request({ kind: "input-request", requestId: "3", prompt: "Token", credential: "shop" }),
      request({ prompt: "no id" }),
    ];

    expect(openQuestions(asking(parts))).toMatchObject([
      { kind: "input-request", requestId: "1", options: ["a", "b"], isSensitive: false },
      { kind: "auth-request", requestId: "2", url: "https://a.example/" },
      { requestId: "3", credential: "shop", isSensitive: true },
    ]);
    expect(openQuestions(asking(parts, "completed"))).toEqual([]);
  });

  test("have the choices that another agent puts into a data part", () => {
    const parts: readonly A2APart[] = [{ kind: "data", data: { choices: ["yes", "no"] } }];

    expect(openQuestions(asking(parts))).toMatchObject([{ options: ["yes", "no"] }]);
  });

  test("are not the options of an approval, which no words decide", () => {
    const approval = { id: "1", tool: { name: "x" }, options: ["once"] };
    const metadata = { [EXTENSIONS.approvals.uri]: { type: "approval-request" } };

    expect(openQuestions(asking([{ kind: "data", data: approval, metadata }]))).toEqual([]);
  });
});
