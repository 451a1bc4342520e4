import { expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { A2AError, ERRORS, type ErrorReason, invalidParams } from "../../errors.ts";
import { encodeError } from "./error.ts";

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

verifies(["R5", "R7"], "a bad field of 1.0 is an ErrorInfo and a BadRequest that names it", () => {
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
});

test("an error without a field is an ErrorInfo with the facts", () => {
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

verifies(["R29"], "each error has the reason that 1.0 gives it", () => {
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

test("what was hidden stays hidden on the wire", () => {
  const error = A2AError.from(new Error("password is hunter2"), "e-17");

  expect(JSON.stringify(encodeError(error))).not.toContain("hunter2");
  expect(encodeError(error)).toMatchObject({ data: [{ metadata: { errorId: "e-17" } }] });
});

function reasonOf(error: A2AError): string {
  const [info] = encodeError(error).data as readonly [{ readonly reason: string }];
  return info.reason;
}
