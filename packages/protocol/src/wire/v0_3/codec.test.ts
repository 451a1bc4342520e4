import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import {
  aMessage,
  aStatusUpdate,
  aTask,
  anArtifactUpdate,
  modelOf,
  overTheWire,
} from "../../testing/arbitraries.suite.ts";
import { codecV1 } from "../v1/codec.ts";
import { codecV03, encodeError } from "./codec.ts";
import { A2AError, invalidParams } from "../../model/errors.ts";

describe("0.3 output", () => {
  verifies(["R22", "R23", "R24"], "has the kind first in every object", () => {
    // As a bridge does: 1.0 data is written in 0.3.
    fc.assert(
      fc.property(modelOf("1.0").event, (event) => {
        const read = codecV1.decodeEvent(JSON.parse(codecV1.eventText(event, "")));

        const text = codecV03.eventText(read, JSON.stringify(read));

        expect(text).toMatch(/^\{"kind":"/);
        for (const object of protocolObjects(JSON.parse(text))) {
          expect(Object.keys(object)[0]).toBe("kind");
        }
      }),
    );
  });

  verifies(["R22"], "has no part with what 0.3 cannot represent, and data is an object", () => {
    fc.assert(
      fc.property(modelOf("1.0").message, (message) => {
        const { parts } = overTheWire(codecV03.encodeSendResult(message)) as typeof message;

        for (const part of parts) {
          expect(part).not.toHaveProperty("mediaType");
          expect(part).not.toHaveProperty("filename");
          expect(part).not.toHaveProperty("type");
          if (part.kind === "data") expect(part.data).toBeInstanceOf(Object);
          if (part.kind === "data") expect(part.data).not.toBeInstanceOf(Array);
        }
      }),
    );
  });

  test("sends an event as it is stored if it is the same in the model", () => {
    const event = aStatusUpdate("working", aMessage());
    const stored = `${JSON.stringify(event).slice(0, -1)},"stored":true}`;

    expect(codecV03.eventText(event, stored)).toBe(stored);
  });

  test("is re-encoded only for 1.0 additions", () => {
    const event = anArtifactUpdate([{ kind: "text", text: "# hi", mediaType: "text/markdown" }]);

    const text = codecV03.eventText(event, JSON.stringify(event));

    expect(JSON.parse(text)).toEqual(anArtifactUpdate([{ kind: "text", text: "# hi" }]));
  });

  test.each([
    ["the history", aTask({ history: [dataMessage()] })],
    ["an artifact", aTask({ artifacts: [{ artifactId: "a1", parts: dataMessage().parts }] })],
    ["the status", aTask({ status: { state: "working", message: dataMessage() } })],
  ])("finds new data anywhere in a task: in %s", (_, task) => {
    const text = codecV03.eventText(task, JSON.stringify(task));

    expect(text).toContain('{"value":[1,2]}');
    expect(codecV03.decodeEvent(JSON.parse(text))).toEqual(task);
  });
});

describe("0.3 input", () => {
  verifies(["R5"], "may omit the kind of a message", () => {
    const { kind: _, ...message } = aMessage();

    const request = codecV03.decodeSendMessage({ message });

    expect(request.message).toStrictEqual(aMessage());
    expect(Object.keys(request.message)[0]).toBe("kind");
  });

  test("finds a task by its id, or by taskId if there is no id", () => {
    expect(codecV03.decodeGetTask({ id: "t1" })).toEqual({ taskId: "t1" });
    expect(codecV03.decodeGetTask({ taskId: "t2" })).toEqual({ taskId: "t2" });
    expect(codecV03.decodeGetTask({ id: "t1", taskId: "t2" })).toEqual({ taskId: "t1" });
    expect(codecV03.decodeCancelTask({ taskId: "t2" })).toEqual({ taskId: "t2" });
    expect(codecV03.decodeSubscribe({ taskId: "t2" })).toEqual({ taskId: "t2" });
  });
});

test("has no list of tasks", () => {
  const unsupported = expect.objectContaining({ reason: "UnsupportedOperation" });
  const page = { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 };

  expect(() => codecV03.decodeListTasks({})).toThrow(unsupported);
  expect(() => codecV03.encodeListTasks({ pageSize: 50, includeArtifacts: true })).toThrow(
    unsupported,
  );
  expect(() => codecV03.encodeTaskPage(page, true)).toThrow(unsupported);
  expect(() => codecV03.decodeTaskPage(page)).toThrow(unsupported);
});

function dataMessage() {
  return aMessage({ parts: [{ kind: "data", data: [1, 2] }] });
}

/** The event, its messages and all their parts; statuses, artifacts and files have no kind. */
function protocolObjects(value: object): readonly object[] {
  const { status, history, artifacts, artifact, parts } = value as {
    status?: { message?: object };
    history?: readonly object[];
    artifacts?: readonly { parts: readonly object[] }[];
    artifact?: { parts: readonly object[] };
    parts?: readonly object[];
  };
  const messages = [status?.message ?? [], history ?? []].flat();
  const artifactParts = [artifact ?? [], artifacts ?? []].flat().flatMap((made) => made.parts);
  return [value, ...messages.flatMap(protocolObjects), ...artifactParts, ...(parts ?? [])];
}

verifies(["R5", "R7"], "a 0.3 error has the reason and the field", () => {
  expect(encodeError(invalidParams("message.parts", "must not be empty"))).toEqual({
    code: -32602,
    message: "Invalid parameters: message.parts must not be empty",
    data: { reason: "message.parts must not be empty", field: "message.parts" },
  });
});

verifies(["R4"], "the details of an error are next to its reason", () => {
  const error = new A2AError("MethodNotFound", "there is no method tasks/dance", {
    details: { method: "tasks/dance" },
  });

  expect(encodeError(error)).toEqual({
    code: -32601,
    message: "Method not found: there is no method tasks/dance",
    data: { reason: "there is no method tasks/dance", method: "tasks/dance" },
  });
});

test("hidden text stays hidden on the wire", () => {
  const error = A2AError.from(new Error("password is hunter2"), "e-17");

  expect(JSON.stringify(encodeError(error))).not.toContain("hunter2");
  expect(encodeError(error)).toMatchObject({ code: -32603, data: { errorId: "e-17" } });
});
