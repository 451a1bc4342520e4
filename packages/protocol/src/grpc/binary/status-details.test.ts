import fc from "fast-check";
import { expect, test } from "vitest";
import { A2AError } from "../../model/errors.ts";
import { codecV1 } from "../../wire/v1/codec.ts";
import { decodeStatusDetails, encodeStatusDetails } from "./status-details.ts";

const INFO = "type.googleapis.com/google.rpc.ErrorInfo";

test("a 1.0 error arrives with its details", () => {
  const error = new A2AError("InvalidParams", "message.parts must not be empty", {
    field: "message.parts",
    details: { limit: "1" },
  });
  const { message, data } = codecV1.encodeError(error);
  const status = { code: 3, message, details: data as readonly object[] };

  expect(decodeStatusDetails(encodeStatusDetails(status))).toEqual(status);
});

test("the bytes are those of google.rpc.Status", () => {
  const details = [{ "@type": INFO, reason: "R", domain: "d", metadata: { a: "b" } }];
  const bytes = encodeStatusDetails({ code: 5, message: "x", details });

  // 1: 5, 2: "x", 3: { 1: the type, 2: { 1: "R", 2: "d", 3: { 1: "a", 2: "b" } } }
  expect(Buffer.from(bytes).toString("hex")).toBe(
    "0805" +
      "120178" +
      `1a3a0a28${Buffer.from(INFO).toString("hex")}` +
      "120e" +
      "0a0152" +
      "120164" +
      "1a060a0161120162",
  );
});

test("an unknown detail keeps its bytes", () => {
  const details = [{ "@type": "type.googleapis.com/google.rpc.RequestInfo", value: "CgIIBQ==" }];
  const status = { code: 14, message: "later", details };

  expect(decodeStatusDetails(encodeStatusDetails(status))).toEqual(status);
});

test("a detail must have its type", () => {
  expect(() => encodeStatusDetails({ code: 3, message: "", details: [{ reason: "R" }] })).toThrow(
    "Status.details.@type must be a string",
  );
});

test("an empty status is OK", () => {
  expect(decodeStatusDetails(new Uint8Array())).toEqual({ code: 0, message: "", details: [] });
});

test("random bytes are reported as an error of the agent, and nothing else happens", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        decodeStatusDetails(bytes);
      } catch (error) {
        expect(error).toMatchObject({ reason: "InvalidAgentResponse" });
      }
    }),
    { numRuns: 300 },
  );
  expect(() => decodeStatusDetails(Uint8Array.of(0x12, 0x05))).toThrow(
    "the details of the status are not valid protobuf",
  );
});

test.each(["0s", "5s", "2.5s", "0.001s", "-1.5s"])(
  "a delay of %s is read as it was written",
  (retryDelay) => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }];
    const status = { code: 8, message: "slowly", details };

    expect(decodeStatusDetails(encodeStatusDetails(status))).toEqual(status);
  },
);
