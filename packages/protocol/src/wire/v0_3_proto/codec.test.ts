import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { A2AError } from "../../model/errors.ts";
import { BEARER_SECURITY } from "../../model/security.ts";
import {
  aMessage,
  aStatusUpdate,
  aTask,
  anArtifactUpdate,
  modelOf,
  overTheWire,
  someFacts,
} from "../../testing/arbitraries.suite.ts";
import { codecV03 } from "../v0_3/codec.ts";
import { codecV1 } from "../v1/codec.ts";
import { codecV03Proto as codec } from "./codec.ts";

const HELLO = { messageId: "m1", role: "ROLE_USER", content: [{ text: "hello" }] };

describe("0.3 output in ProtoJSON", () => {
  test("has the states and roles of the proto, and content where JSON-RPC has parts", () => {
    const task = aTask({
      status: {
        state: "canceled",
        message: aMessage({ messageId: "m2", role: "agent", taskId: "t1" }),
        timestamp: "2026-01-31T12:00:00.000Z",
      },
      history: [aMessage()],
      artifacts: [{ artifactId: "a1", name: "answer", parts: [{ kind: "text", text: "42" }] }],
      metadata: { source: "test" },
    });

    expect(codec.encodeTask(task)).toEqual({
      id: "t1",
      contextId: "c1",
      status: {
        state: "TASK_STATE_CANCELLED",
        message: {
          messageId: "m2",
          role: "ROLE_AGENT",
          content: [{ text: "hello" }],
          taskId: "t1",
        },
        timestamp: "2026-01-31T12:00:00.000Z",
      },
      history: [HELLO],
      artifacts: [{ artifactId: "a1", name: "answer", parts: [{ text: "42" }] }],
      metadata: { source: "test" },
    });
  });

  test("has a task or a message under its name", () => {
    expect(codec.encodeSendResult(aMessage())).toEqual({ message: HELLO });
    expect(codec.encodeSendResult(aTask())).toEqual({ task: codec.encodeTask(aTask()) });
  });

  test("has an event as its member, and a status still says whether it is final", () => {
    const working = codec.encodeEvent(aStatusUpdate("input-required", aMessage()));
    const chunk = anArtifactUpdate([{ kind: "text", text: "more" }], { append: true });

    expect(working).toEqual({
      statusUpdate: {
        taskId: "t1",
        contextId: "c1",
        status: { state: "TASK_STATE_INPUT_REQUIRED", message: HELLO },
        final: true,
      },
    });
    expect(JSON.parse(codec.eventText(chunk, ""))).toEqual({
      artifactUpdate: {
        taskId: "t1",
        contextId: "c1",
        artifact: { artifactId: "a1", parts: [{ text: "more" }] },
        append: true,
      },
    });
  });

  test("has no kind, and no field of a message that the proto cannot represent", () => {
    // As a bridge does: 1.0 data is written in 0.3.
    fc.assert(
      fc.property(modelOf("1.0").event, (event) => {
        const read = codecV1.decodeEvent(JSON.parse(codecV1.eventText(event, "")));

        const keys = protocolKeys(JSON.parse(codec.eventText(read, JSON.stringify(read))));

        for (const key of ["kind", "parts of a message", "referenceTaskIds", "mediaType"]) {
          expect(keys).not.toContain(key);
        }
      }),
    );
  });

  test("has the card and the errors of JSON-RPC", () => {
    const facts = someFacts({ security: BEARER_SECURITY });
    const error = new A2AError("TaskNotFound", "there is no task t1", { details: { id: "t1" } });

    expect(codec.encodeCard(facts)).toEqual(codecV03.encodeCard(facts));
    expect(codec.encodeError(error)).toEqual(codecV03.encodeError(error));
  });
});

describe("0.3 input in ProtoJSON", () => {
  test("accepts a message with all optional fields", () => {
    const request = codec.decodeSendMessage({
      message: { ...HELLO, contextId: "c1", taskId: "", extensions: ["https://x.test/e"] },
      configuration: {
        acceptedOutputModes: ["text/plain"],
        historyLength: 3,
        blocking: false,
        pushNotification: { url: "https://hooks.test/", authentication: { schemes: ["Bearer"] } },
      },
      metadata: { trace: 1 },
    });

    expect(request).toStrictEqual({
      message: aMessage({ contextId: "c1", extensions: ["https://x.test/e"] }),
      blocking: false,
      historyLength: 3,
      acceptedOutputModes: ["text/plain"],
      pushConfig: { url: "https://hooks.test/", authentication: { schemes: ["Bearer"] } },
      metadata: { trace: 1 },
    });
  });

  test("accepts every name and number that a ProtoJSON parser has to accept", () => {
    const request = codec.decodeSendMessage({
      request: {
        message_id: "m1",
        context_id: "c1",
        role: 1,
        content: [{ file: { file_with_uri: "https://x.test/f", mime_type: "text/plain" } }],
        metadata: null,
      },
      configuration: {
        accepted_output_modes: ["text/plain"],
        history_length: "3",
        push_notification: { id: "", url: "https://hooks.test/", token: null },
      },
    });
    const task = codec.decodeTask({
      id: "t1",
      context_id: "c1",
      status: { state: 5, update: { ...HELLO, role: 2 } },
      artifacts: [{ artifact_id: "a1", parts: [{ text: "42" }] }],
    });
    const event = codec.decodeEvent({
      artifact_update: {
        task_id: "t1",
        context_id: "c1",
        artifact: { artifact_id: "a1", parts: [{ text: "42" }] },
        last_chunk: true,
      },
    });

    expect(request).toStrictEqual({
      message: aMessage({
        contextId: "c1",
        parts: [{ kind: "file", file: { uri: "https://x.test/f", mimeType: "text/plain" } }],
      }),
      blocking: false,
      historyLength: 3,
      acceptedOutputModes: ["text/plain"],
      pushConfig: { url: "https://hooks.test/" },
    });
    expect(task).toStrictEqual(
      aTask({
        status: { state: "canceled", message: aMessage({ role: "agent" }) },
        artifacts: [{ artifactId: "a1", parts: [{ kind: "text", text: "42" }] }],
      }),
    );
    expect(event).toStrictEqual(
      anArtifactUpdate([{ kind: "text", text: "42" }], { lastChunk: true }),
    );
    expect(codec.decodeSendResult({ msg: HELLO })).toStrictEqual(aMessage());
  });

  test("treats null as absent, also next to another name of the field", () => {
    expect(codec.decodeSendMessage({ message: null, request: HELLO }).message).toEqual(aMessage());
  });

  test("accepts a message in the JSON-RPC dialect, because callers mix the two", () => {
    const { kind: _, ...withoutKind } = aMessage();

    for (const message of [aMessage(), withoutKind]) {
      expect(codec.decodeSendMessage({ message }).message).toStrictEqual(aMessage());
    }
    expect(codec.decodeSendMessage({ message: { ...HELLO, kind: "message" } }).message).toEqual(
      aMessage(),
    );
    expect(codec.decodeEvent(aStatusUpdate("working"))).toEqual(aStatusUpdate("working"));
    expect(codec.decodeSendResult(aTask())).toEqual(aTask());
    expect(codec.decodeTask(aTask({ history: [aMessage()] }))).toEqual(
      aTask({ history: [aMessage()] }),
    );
  });

  test("finds a task by its resource name, in full or in part", () => {
    expect(codec.decodeGetTask({ name: "tasks/t1" })).toEqual({ taskId: "t1" });
    expect(codec.decodeGetTask({ name: "tasks/t1", historyLength: 2 })).toEqual({
      taskId: "t1",
      historyLength: 2,
    });
    expect(codec.decodeCancelTask({ name: "tasks/t1" })).toEqual({ taskId: "t1" });
    expect(codec.decodeSubscribe({ name: "tasks/t1" })).toEqual({ taskId: "t1" });
  });

  test.each(["", "t1", "tasks/", "tasks/t1/", "/tasks/t1", "tasks/t1/more", "Tasks/t1"])(
    "rejects the name %j with the expected format",
    (name) => {
      const wrong = expect.objectContaining({
        reason: "InvalidParams",
        field: "name",
        detail: "name must be tasks/{id}",
      });

      expect(() => codec.decodeGetTask({ name })).toThrow(wrong);
      expect(() => codec.decodeCancelTask({ name })).toThrow(wrong);
      expect(() => codec.decodeSubscribe({ name })).toThrow(wrong);
    },
  );

  test("treats a history of 0 messages as unlimited, as the proto says", () => {
    const message = HELLO;

    expect(codec.decodeGetTask({ name: "tasks/t1", historyLength: 0 })).toEqual({ taskId: "t1" });
    expect(
      codec.decodeSendMessage({ message, configuration: { historyLength: 0 } }),
    ).not.toHaveProperty("historyLength");
  });

  test("treats a status without final as not final", () => {
    const statusUpdate = { taskId: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" } };

    expect(codec.decodeEvent({ statusUpdate })).toEqual(aStatusUpdate("working"));
  });

  test.each([
    [undefined, "params must be an object"],
    [{}, "message is required"],
    [{ message: { role: "ROLE_USER", content: [{ text: "" }] } }, "message.messageId is required"],
    [
      { message: { ...HELLO, role: "ROLE_UNSPECIFIED" } },
      "message.role must be one of ROLE_USER, ROLE_AGENT, 1, 2",
    ],
    [{ message: { ...HELLO, content: [] } }, "message.content must not be empty"],
    [
      { message: { ...HELLO, content: [{}] } },
      "message.content[0] must have exactly one of text, file, data",
    ],
    [{ message: HELLO, configuration: [] }, "configuration must be an object"],
    [
      { message: HELLO, configuration: { historyLength: "many" } },
      "configuration.historyLength must be an integer",
    ],
    [
      { message: HELLO, configuration: { blocking: "no" } },
      "configuration.blocking must be a boolean",
    ],
    [
      { message: HELLO, configuration: { pushNotification: {} } },
      "configuration.pushNotification.url is required",
    ],
  ])("rejects the send %j with the reason", (params, detail) => {
    expect(() => codec.decodeSendMessage(params)).toThrow(
      expect.objectContaining({ reason: "InvalidParams", detail }),
    );
  });

  test("does not accept an update as the response to a send", () => {
    const update = overTheWire(codec.encodeEvent(aStatusUpdate("working")));

    expect(() => codec.decodeSendResult(update)).toThrow(
      expect.objectContaining({ reason: "InvalidAgentResponse" }),
    );
  });
});

test("has no list of tasks for a server in ProtoJSON either", () => {
  const unsupported = expect.objectContaining({ reason: "UnsupportedOperation" });
  const page = { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 };

  expect(() => codec.decodeListTasks({})).toThrow(unsupported);
  expect(() => codec.encodeTaskPage(page, true)).toThrow(unsupported);
});

test("lets a client request the list that the 0.3 table has on REST, and reads a list or a page", () => {
  const [one, two] = [aTask({ id: "t1" }), aTask({ id: "t2" })];
  const tasks = [one, two].map((task) => overTheWire(codec.encodeTask(task)));

  expect(
    codec.encodeListTasks({ pageSize: 5, includeArtifacts: false, state: "canceled" }),
  ).toEqual({ pageSize: 5, includeArtifacts: false, status: "TASK_STATE_CANCELLED" });
  expect(codec.decodeTaskPage(tasks)).toEqual({
    tasks: [one, two],
    nextPageToken: "",
    pageSize: 2,
    totalSize: 2,
  });
  expect(codec.decodeTaskPage({ tasks: tasks.slice(0, 1), nextPageToken: "more" })).toMatchObject({
    tasks: [one],
    nextPageToken: "more",
  });
  expect(() => codec.decodeTaskPage({ tasks: "none" })).toThrow("the tasks are not a list");
});

/** Every key of the protocol itself; data and metadata are the caller's own. */
function protocolKeys(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(protocolKeys);
  if (typeof value !== "object" || value === null) return [];
  const isMessage = "messageId" in value;
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === "data" || key === "metadata") return [key];
    return [isMessage && key === "parts" ? "parts of a message" : key, ...protocolKeys(inner)];
  });
}
