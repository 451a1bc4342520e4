import { describe, expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { EXTENSIONS } from "../../extensions/extensions.ts";
import { agentMessage } from "../../model/message.ts";
import { type DataPart, textPart } from "../../model/part.ts";
import type { Task } from "../../model/task.ts";
import { CODECS, LEGACY_CODECS, PROTO_CODECS } from "../codecs.ts";

const { uri } = EXTENSIONS.clientTools;

function marked(type: string, data: object): DataPart {
  return { kind: "data", data, metadata: { [uri]: { type } } };
}

const KEY = marked("input-request", {
  kind: "input-request",
  requestId: "call_1:key",
  toolCallId: "call_1",
  prompt: "Enter API key:",
  sensitive: true,
});
const READ = marked("tool-use", { toolUseId: "call_2", name: "read_file", input: { path: "a" } });

function asking(...parts: readonly DataPart[]): Task {
  const message = agentMessage("m1", [textPart("Well?"), ...parts]);
  return { kind: "task", id: "t1", contextId: "c1", status: { state: "input-required", message } };
}

function requestIn(value: unknown): unknown {
  return (value as { status: { message: Record<string, unknown> } }).status.message["inputRequest"];
}

describe("a question in the form of early documents", () => {
  verifies(
    "R57",
    "has its first request in addition to its text, in every form of a response",
    () => {
      const codec = LEGACY_CODECS["0.3"];
      const task = asking(KEY, READ);
      const { status } = task;
      const update = { kind: "status-update", taskId: "t1", contextId: "c1", status } as const;
      const event = { ...update, final: true };
      const expected = {
        kind: "input-request",
        prompt: "Enter API key:",
        sensitive: true,
        requestId: "call_1:key",
      };

      expect(requestIn(codec.encodeTask(task))).toEqual(expected);
      expect(requestIn(codec.encodeSendResult(task))).toEqual(expected);
      expect(requestIn(codec.encodeEvent(event))).toEqual(expected);
      expect(requestIn(JSON.parse(codec.eventText(event, JSON.stringify(event))))).toEqual(
        expected,
      );
    },
  );

  verifies("R57", "has the tool of the caller to run, and its arguments", () => {
    expect(requestIn(LEGACY_CODECS["0.3"].encodeTask(asking(READ)))).toEqual({
      kind: "input-request",
      prompt: "Run read_file and send its result.",
      sensitive: false,
      requestId: "call_2",
      name: "read_file",
      input: { path: "a" },
    });
  });

  verifies("R57", "is official everywhere else", () => {
    const task = asking(KEY);

    for (const codec of [CODECS["0.3"], CODECS["1.0"], LEGACY_CODECS["1.0"], PROTO_CODECS["0.3"]]) {
      expect(JSON.stringify(codec.encodeTask(task))).not.toContain("inputRequest");
    }
  });

  test("for an approval is read back as only the approval", () => {
    const approval = {
      id: "approval-1",
      tool: { callId: "call_1", name: "delete", arguments: {} },
      title: "Delete a.txt",
      options: ["once", "reject", "edit"],
    };
    const { uri: approvals } = EXTENSIONS.approvals;
    const inPart = {
      kind: "data",
      data: approval,
      metadata: { [approvals]: { type: "approval-request" } },
    } as const;
    const plain = asking();
    const message = {
      ...plain.status.message!,
      metadata: { [approvals]: { requests: [approval] } },
    };
    const inMetadata: Task = { ...plain, status: { ...plain.status, message } };
    const codec = LEGACY_CODECS["0.3"];

    for (const task of [asking(inPart), inMetadata]) {
      const encoded = codec.encodeTask(task);
      expect(requestIn(encoded)).toEqual({
        kind: "input-request",
        prompt: "Approve: Delete a.txt?",
        sensitive: false,
        requestId: "approval-1",
        options: ["once", "reject"],
      });
      expect(codec.decodeTask(encoded)).toEqual(task);
    }
  });

  test("is not added to a status that asks for nothing", () => {
    const codec = LEGACY_CODECS["0.3"];
    const signIn = marked("input-request", { kind: "auth-request", requestId: "a", prompt: "b" });
    const working = { ...asking(KEY), status: { state: "working" } } as const;

    for (const task of [asking(), asking(signIn), working]) {
      expect(codec.encodeTask(task)).toEqual(CODECS["0.3"].encodeTask(task));
      // As it is stored, without re-encoding.
      expect(codec.eventText(task, "stored")).toBe("stored");
    }
  });

  test("is read back as the original question", () => {
    const task = asking(KEY, READ);

    expect(CODECS["0.3"].decodeTask(LEGACY_CODECS["0.3"].encodeTask(task))).toEqual(task);
  });
});

test("an early server's request is read as data", () => {
  const message = {
    messageId: "m1",
    role: "agent",
    parts: [{ kind: "tool-use", toolUseId: "t1", name: "look", input: {} }],
    inputRequest: { kind: "input-request", prompt: "Key?", sensitive: true, requestId: "input-1" },
  };
  const status = { state: "input-required", message };

  const task = CODECS["0.3"].decodeTask({ id: "t1", contextId: "c1", status });

  expect(task.status.message).toEqual({
    kind: "message",
    messageId: "m1",
    role: "agent",
    parts: [
      marked("tool-use", { toolUseId: "t1", name: "look", input: {} }),
      marked("input-request", message.inputRequest),
    ],
  });
});
