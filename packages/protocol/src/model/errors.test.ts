import { describe, expect, test } from "vitest";
import { A2AError, ERRORS, type ErrorReason, GRPC_STATUS, invalidParams } from "./errors.ts";
import { verifies } from "../../../../test/verifies.ts";

/** The codes of the specifications: 0.3 §8, 1.0 §5.4, JSON-RPC 2.0 §5.1. */
const OFFICIAL = {
  JsonParse: { code: -32700, http: 400, grpc: "INVALID_ARGUMENT" },
  InvalidRequest: { code: -32600, http: 400, grpc: "INVALID_ARGUMENT" },
  MethodNotFound: { code: -32601, http: 404, grpc: "UNIMPLEMENTED" },
  InvalidParams: { code: -32602, http: 400, grpc: "INVALID_ARGUMENT" },
  Internal: { code: -32603, http: 500, grpc: "INTERNAL" },
  TaskNotFound: { code: -32001, http: 404, grpc: "NOT_FOUND" },
  TaskNotCancelable: { code: -32002, http: 400, grpc: "FAILED_PRECONDITION" },
  PushNotificationNotSupported: { code: -32003, http: 400, grpc: "FAILED_PRECONDITION" },
  UnsupportedOperation: { code: -32004, http: 400, grpc: "FAILED_PRECONDITION" },
  ContentTypeNotSupported: { code: -32005, http: 400, grpc: "INVALID_ARGUMENT" },
  InvalidAgentResponse: { code: -32006, http: 500, grpc: "INTERNAL" },
  ExtendedAgentCardNotConfigured: { code: -32007, http: 400, grpc: "FAILED_PRECONDITION" },
  ExtensionSupportRequired: { code: -32008, http: 400, grpc: "FAILED_PRECONDITION" },
  VersionNotSupported: { code: -32009, http: 400, grpc: "FAILED_PRECONDITION" },
} as const;

/** Rejected by the transport, with the closest code and its own status. */
const TRANSPORT = {
  Unauthenticated: { code: -32603, http: 401, grpc: "UNAUTHENTICATED", transport: true },
  Forbidden: { code: -32603, http: 403, grpc: "PERMISSION_DENIED", transport: true },
  RequestTimeout: { code: -32600, http: 408, grpc: "DEADLINE_EXCEEDED", transport: true },
  PayloadTooLarge: { code: -32600, http: 413, grpc: "RESOURCE_EXHAUSTED", transport: true },
  UnsupportedMediaType: { code: -32005, http: 415, grpc: "INVALID_ARGUMENT", transport: true },
  TooManyRequests: { code: -32603, http: 429, grpc: "RESOURCE_EXHAUSTED", transport: true },
  Unavailable: { code: -32603, http: 503, grpc: "UNAVAILABLE", transport: true },
} as const;

const REASONS = Object.keys(ERRORS) as readonly ErrorReason[];

test("1.0.0 had other statuses for some of them", () => {
  const changed = REASONS.flatMap((reason) => {
    const error = new A2AError(reason, "");
    const [old, now] = [error.statuses("1.0.0"), error.statuses("1.0.1")];
    return old.http === now.http && old.grpc === now.grpc ? [] : [[reason, old.http, old.grpc]];
  });

  expect(changed).toEqual([
    ["TaskNotCancelable", 409, "FAILED_PRECONDITION"],
    ["PushNotificationNotSupported", 400, "UNIMPLEMENTED"],
    ["UnsupportedOperation", 400, "UNIMPLEMENTED"],
    ["ContentTypeNotSupported", 415, "INVALID_ARGUMENT"],
    ["InvalidAgentResponse", 502, "INTERNAL"],
    ["VersionNotSupported", 400, "UNIMPLEMENTED"],
  ]);
});

describe("the table of errors", () => {
  verifies(["R29"], "every code has its official meaning, on every binding", () => {
    const rows = Object.fromEntries(
      REASONS.map((reason) => {
        const { code, http, grpc, ...rest } = ERRORS[reason];
        return [reason, { code, http, grpc, ...("transport" in rest && { transport: true }) }];
      }),
    );

    expect(rows).toEqual({ ...OFFICIAL, ...TRANSPORT });
  });

  verifies(["R29"], "no custom code is ever sent", () => {
    const official = new Set<number>(Object.values(OFFICIAL).map(({ code }) => code));

    expect(REASONS.filter((reason) => !official.has(ERRORS[reason].code))).toEqual([]);
  });

  test("no two rows are equal: code and HTTP status together are unique", () => {
    const meanings = REASONS.map((reason) => `${ERRORS[reason].code} ${ERRORS[reason].http}`);

    expect(new Set(meanings).size).toBe(REASONS.length);
  });

  test("a code belongs to one protocol error; others with it come from the transport", () => {
    const codes = REASONS.filter((reason) => !("transport" in ERRORS[reason])).map(
      (reason) => ERRORS[reason].code,
    );

    expect(new Set(codes).size).toBe(codes.length);
  });

  verifies(["R2"], "only transport errors keep their HTTP status", () => {
    const kept = REASONS.filter((reason) => "transport" in ERRORS[reason]);

    expect(kept.map((reason) => ERRORS[reason].http)).toEqual([401, 403, 408, 413, 415, 429, 503]);
  });
});

describe("an error", () => {
  test("has its kind and what went wrong this time", () => {
    const error = new A2AError("TaskNotFound", "there is no task t1", {
      details: { taskId: "t1" },
    });

    expect(error.message).toBe("Task not found: there is no task t1");
    expect(error.detail).toBe("there is no task t1");
    expect(error.row.code).toBe(-32001);
    expect(error.details).toEqual({ taskId: "t1" });
    expect(error.field).toBeUndefined();
    expect(error.name).toBe("A2AError");
    expect(error).toBeInstanceOf(Error);
  });

  test("quotes at most 2000 characters of what a caller sent", () => {
    const long = `${"x".repeat(1999)}😀${"x".repeat(1_000_000)}`;

    const error = new A2AError("TaskNotFound", long, { details: { taskId: long } });

    for (const text of [error.detail, error.message, error.details["taskId"]!]) {
      expect(text.length).toBeLessThan(2100);
      expect(text.isWellFormed()).toBe(true);
      expect(text).toContain("(1002001 characters)");
    }
  });

  test("names the invalid field", () => {
    expect(invalidParams("message.role", "is required")).toMatchObject({
      reason: "InvalidParams",
      field: "message.role",
      message: "Invalid parameters: message.role is required",
    });
  });

  verifies(["R6"], "is hidden from the caller and kept for the log if it is unknown", () => {
    for (const thrown of [new Error("password is hunter2"), "hunter2", { secret: "hunter2" }]) {
      const error = A2AError.from(thrown, "e-17");

      expect(error.reason).toBe("Internal");
      expect(error.cause).toBe(thrown);
      expect(error.details).toEqual({ errorId: "e-17" });
      expect(error.message).toContain("e-17");
      expect(`${error.message} ${error.detail}`).not.toContain("hunter2");
    }
  });

  verifies(["R6"], "keeps its own text if it was raised on purpose", () => {
    const error = invalidParams("message.role", "is required");

    expect(A2AError.from(error, "e-17")).toBe(error);
  });

  test("can be created from any thrown value", () => {
    for (const thrown of [undefined, null, 0, "", Symbol("x")]) {
      expect(A2AError.from(thrown, "e-17").cause).toBe(thrown);
    }
  });

  test("is recognized across two copies of this package", () => {
    const brand = Symbol.for("@convoke/protocol/A2AError");
    class OtherCopy extends Error {
      readonly [brand] = true;
    }

    expect(A2AError.is(new OtherCopy())).toBe(true);
    expect(A2AError.is(new A2AError("Internal", "x"))).toBe(true);
    expect([new Error("x"), "x", null, undefined, {}].some((value) => A2AError.is(value))).toBe(
      false,
    );
  });
});

test("has a valid gRPC status", () => {
  for (const row of Object.values(ERRORS)) expect(GRPC_STATUS).toContain(row.grpc);
});
