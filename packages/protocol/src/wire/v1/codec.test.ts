import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  aMessage,
  aStatusUpdate,
  aTask,
  modelOf,
  overTheWire,
} from "../../testing/arbitraries.suite.ts";
import { codecV1, encodeError } from "./codec.ts";
import { verifies } from "../../../../../test/verifies.ts";
import { A2AError, ERRORS, type ErrorReason, invalidParams } from "../../model/errors.ts";

describe("a 1.0 stream", () => {
  test("an event is an object with exactly one member, named after its type", () => {
    fc.assert(
      fc.property(modelOf("1.0").event, (event) => {
        const members = Object.keys(JSON.parse(codecV1.eventText(event, "")) as object);

        expect(members).toEqual([
          {
            task: "task",
            message: "message",
            "status-update": "statusUpdate",
            "artifact-update": "artifactUpdate",
          }[event.kind],
        ]);
      }),
    );
  });

  test("a status has neither kind nor final, and final is derived from the state when it is read", () => {
    const event = aStatusUpdate("input-required");

    const wire = JSON.parse(codecV1.eventText(event, ""));

    expect(wire).toEqual({
      statusUpdate: {
        taskId: "t1",
        contextId: "c1",
        status: { state: "TASK_STATE_INPUT_REQUIRED" },
      },
    });
    expect(codecV1.decodeEvent(wire)).toEqual(event);
  });
});

describe("a list of tasks", () => {
  test("a list request arrives unchanged", () => {
    fc.assert(
      fc.property(modelOf("1.0").listTasks, (request) => {
        const wire = overTheWire(codecV1.encodeListTasks(request));

        expect(codecV1.decodeListTasks(wire)).toStrictEqual(request);
      }),
    );
  });

  test("a page arrives as it was sent", () => {
    fc.assert(
      fc.property(modelOf("1.0").taskPage, (page) => {
        const wire = overTheWire(codecV1.encodeTaskPage(page, true));

        const tasks = page.tasks.map((task) => ({ ...task, artifacts: task.artifacts ?? [] }));
        expect(codecV1.decodeTaskPage(wire)).toStrictEqual({ ...page, tasks });
      }),
    );
  });

  test("a page has artifacts if they were requested, even if there are none, and otherwise never", () => {
    const artifacts = [{ artifactId: "a1", parts: [{ kind: "text" as const, text: "hi" }] }];
    const page = {
      tasks: [aTask(), aTask({ artifacts })],
      nextPageToken: "",
      pageSize: 2,
      totalSize: 2,
    };

    const [bare, rich] = tasksOf(codecV1.encodeTaskPage(page, true));
    const [bareWithout, richWithout] = tasksOf(codecV1.encodeTaskPage(page, false));

    expect(bare).toHaveProperty("artifacts", []);
    expect(rich).toHaveProperty("artifacts.0.parts.0.text", "hi");
    expect(bareWithout).not.toHaveProperty("artifacts");
    expect(richWithout).not.toHaveProperty("artifacts");
  });

  test("a page always has all four of its fields", () => {
    const page = { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 };

    expect(codecV1.encodeTaskPage(page, false)).toEqual(page);
    expect(codecV1.decodeTaskPage({})).toEqual({ ...page, pageSize: 0 });
  });

  test("a list without options has fifty tasks per page and no artifacts", () => {
    const usual = { pageSize: 50, includeArtifacts: false };

    expect(codecV1.decodeListTasks(undefined)).toEqual(usual);
    expect(codecV1.decodeListTasks({})).toEqual(usual);
    expect(
      codecV1.decodeListTasks({
        status: "TASK_STATE_UNSPECIFIED",
        contextId: "",
        pageToken: "",
        statusTimestampAfter: "",
      }),
    ).toEqual(usual);
  });

  test("a time in another zone is the same time in UTC", () => {
    const request = codecV1.decodeListTasks({ statusTimestampAfter: "2026-01-31T13:00:00+01:00" });

    expect(request.statusTimestampAfter).toBe("2026-01-31T12:00:00.000Z");
  });
});

test("the response to a send is a task or a message and nothing else", () => {
  expect(codecV1.encodeSendResult(aTask())).toHaveProperty("task.id", "t1");
  expect(codecV1.encodeSendResult(aMessage())).toHaveProperty("message.messageId", "m1");
  expect(() =>
    codecV1.decodeSendResult(JSON.parse(codecV1.eventText(aStatusUpdate("working"), ""))),
  ).toThrow(expect.objectContaining({ reason: "InvalidAgentResponse" }));
});

function tasksOf(page: unknown): readonly object[] {
  return (page as { tasks: readonly object[] }).tasks;
}

const INFO = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest";

/** 1.0 §5.4. */
const OFFICIAL_REASONS: Partial<Record<ErrorReason, string>> = {
  TaskNotFound: "TASK_NOT_FOUND",
  TaskNotCancelable: "TASK_NOT_CANCELABLE",
  PushNotificationNotSupported: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  UnsupportedOperation: "UNSUPPORTED_OPERATION",
  ContentTypeNotSupported: "CONTENT_TYPE_NOT_SUPPORTED",
  InvalidAgentResponse: "INVALID_AGENT_RESPONSE",
  ExtendedAgentCardNotConfigured: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
  ExtensionSupportRequired: "EXTENSION_SUPPORT_REQUIRED",
  VersionNotSupported: "VERSION_NOT_SUPPORTED",
};

verifies(
  ["R5", "R7"],
  "an invalid field in 1.0 is an ErrorInfo and a BadRequest that names it",
  () => {
    expect(encodeError(invalidParams("message.parts", "must not be empty"))).toEqual({
      code: -32602,
      message: "Invalid parameters: message.parts must not be empty",
      data: [
        { "@type": INFO, reason: "INVALID_PARAMS", domain: "a2a-protocol.org", metadata: {} },
        {
          "@type": BAD_REQUEST,
          fieldViolations: [
            { field: "message.parts", description: "message.parts must not be empty" },
          ],
        },
      ],
    });
  },
);

test("an error without a field is an ErrorInfo with the details", () => {
  const error = new A2AError("TaskNotFound", "there is no task t1", { details: { taskId: "t1" } });

  expect(encodeError(error)).toEqual({
    code: -32001,
    message: "Task not found: there is no task t1",
    data: [
      {
        "@type": INFO,
        reason: "TASK_NOT_FOUND",
        domain: "a2a-protocol.org",
        metadata: { taskId: "t1" },
      },
    ],
  });
});

verifies(["R29"], "each error has the reason that 1.0 defines", () => {
  const reasons = Object.keys(OFFICIAL_REASONS) as ErrorReason[];
  const written = reasons.map((reason) => [reason, reasonOf(new A2AError(reason, "x"))]);

  expect(Object.fromEntries(written)).toEqual(OFFICIAL_REASONS);
});

test("no two errors have the same reason", () => {
  const reasons = (Object.keys(ERRORS) as ErrorReason[]).map((reason) =>
    reasonOf(new A2AError(reason, "x")),
  );

  expect(new Set(reasons).size).toBe(reasons.length);
  expect(reasons.every((reason) => /^[A-Z][A-Z_]+$/.test(reason))).toBe(true);
});

test("hidden text stays hidden on the wire", () => {
  const error = A2AError.from(new Error("password is hunter2"), "e-17");

  expect(JSON.stringify(encodeError(error))).not.toContain("hunter2");
  expect(encodeError(error)).toMatchObject({ data: [{ metadata: { errorId: "e-17" } }] });
});

function reasonOf(error: A2AError): string {
  const [info] = encodeError(error).data as readonly [{ readonly reason: string }];
  return info.reason;
}
