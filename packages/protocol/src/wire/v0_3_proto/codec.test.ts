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

describe("what 0.3 emits in ProtoJSON", () => {
  test("a task has the states and roles of the proto, and says content where JSON-RPC says parts", () => {
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

  test("an answer is a task or a message under its name", () => {
    expect(codec.encodeSendResult(aMessage())).toEqual({ message: HELLO });
    expect(codec.encodeSendResult(aTask())).toEqual({ task: codec.encodeTask(aTask()) });
  });

  test("an event is the member that it is, and a status still says whether it is the last", () => {
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

  test("nothing says its kind, and no message what the proto has no place for", () => {
    // As a bridge does: what was read in 1.0 is said in 0.3.
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

  test("the card and the errors are those of JSON-RPC", () => {
    const facts = someFacts({ security: BEARER_SECURITY });
    const error = new A2AError("TaskNotFound", "there is no task t1", { details: { id: "t1" } });

    expect(codec.encodeCard(facts)).toEqual(codecV03.encodeCard(facts));
    expect(codec.encodeError(error)).toEqual(codecV03.encodeError(error));
  });
});

describe("what 0.3 reads in ProtoJSON", () => {
  test("a message to send, with everything that can go with it", () => {
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

  test("every name and number that a ProtoJSON parser has to take", () => {
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

  test("null is the same as no field, also beside another name of the field", () => {
    expect(codec.decodeSendMessage({ message: null, request: HELLO }).message).toEqual(aMessage());
  });

  test("a message in the dialect of JSON-RPC, because callers mix the two up", () => {
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

  test("a task by its resource name, as whole as a caller says it", () => {
    expect(codec.decodeGetTask({ name: "tasks/t1" })).toEqual({ taskId: "t1" });
    expect(codec.decodeGetTask({ name: "tasks/t1", historyLength: 2 })).toEqual({
      taskId: "t1",
      historyLength: 2,
    });
    expect(codec.decodeCancelTask({ name: "tasks/t1" })).toEqual({ taskId: "t1" });
    expect(codec.decodeSubscribe({ name: "tasks/t1" })).toEqual({ taskId: "t1" });
  });

  test.each(["", "t1", "tasks/", "tasks/t1/", "/tasks/t1", "tasks/t1/more", "Tasks/t1"])(
    "the name %j is no task, and the error says what one is called",
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

  test("a history of 0 messages is one without a limit, as the proto says", () => {
    const message = HELLO;

    expect(codec.decodeGetTask({ name: "tasks/t1", historyLength: 0 })).toEqual({ taskId: "t1" });
    expect(
      codec.decodeSendMessage({ message, configuration: { historyLength: 0 } }),
    ).not.toHaveProperty("historyLength");
  });

  test("a status that does not say that it is the last is not", () => {
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
  ])("a bad send %j is told what is wrong with it", (params, detail) => {
    expect(() => codec.decodeSendMessage(params)).toThrow(
      expect.objectContaining({ reason: "InvalidParams", detail }),
    );
  });

  test("an answer that is an update is no answer to a send", () => {
    const update = overTheWire(codec.encodeEvent(aStatusUpdate("working")));

    expect(() => codec.decodeSendResult(update)).toThrow(
      expect.objectContaining({ reason: "InvalidAgentResponse" }),
    );
  });
});

test("0.3 has no list of tasks for a server to read in ProtoJSON either", () => {
  const unsupported = expect.objectContaining({ reason: "UnsupportedOperation" });
  const page = { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 };

  expect(() => codec.decodeListTasks({})).toThrow(unsupported);
  expect(() => codec.encodeTaskPage(page, true)).toThrow(unsupported);
});

test("a client may ask for the list that the table of 0.3 has on REST, and reads a list or a page", () => {
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
