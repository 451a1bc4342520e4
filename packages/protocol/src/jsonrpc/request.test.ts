import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { jsonValues } from "../testing/arbitraries.suite.ts";
import { idOf, openRequest } from "./request.ts";

const envelope = { jsonrpc: "2.0", id: 1, method: "message/send", params: { a: 1 } };

verifies(["R7"], "an id is whatever the caller chose, also 0, the empty text and null", () => {
  for (const id of [0, "", null, 1, -1.5, "a-b", "0"]) {
    expect(openRequest({ ...envelope, id }).id).toBe(id);
    expect(idOf({ id })).toBe(id);
  }
});

test("an opened envelope holds the method and the parameters as they came", () => {
  const { params: _, ...bare } = envelope;

  expect(openRequest(envelope)).toEqual({ id: 1, method: "message/send", params: { a: 1 } });
  expect(openRequest(bare).params).toBeUndefined();
  expect(openRequest({ ...envelope, extra: true })).toEqual(openRequest(envelope));
});

describe("an envelope that cannot be opened", () => {
  const { jsonrpc: _, ...withoutVersion } = envelope;
  const { id: __, ...withoutId } = envelope;
  const { method: ___, ...withoutMethod } = envelope;
  const refused: readonly (readonly [string, unknown, string | undefined, unknown])[] = [
    ["a batch", [envelope], undefined, null],
    ["an empty batch", [], undefined, null],
    ["text", "hello", undefined, null],
    ["a number", 5, undefined, null],
    ["null", null, undefined, null],
    ["no jsonrpc", withoutVersion, "jsonrpc", 1],
    ["jsonrpc 1.0", { ...envelope, jsonrpc: "1.0" }, "jsonrpc", 1],
    ["a number for jsonrpc", { ...envelope, jsonrpc: 2 }, "jsonrpc", 1],
    ["no id", withoutId, "id", null],
    ["an object for an id", { ...envelope, id: {} }, "id", null],
    ["a boolean for an id", { ...envelope, id: true }, "id", null],
    ["no method", withoutMethod, "method", 1],
    ["a number for a method", { ...envelope, method: 5 }, "method", 1],
    ["an id of 0 and no method", { ...withoutMethod, id: 0 }, "method", 0],
  ];

  for (const [what, body, field, id] of refused) {
    verifies(["R2"], `${what} is an invalid request, and its id is echoed or null`, () => {
      expect(() => openRequest(body)).toThrow(
        expect.objectContaining({ reason: "InvalidRequest", field }),
      );
      expect(idOf(body)).toBe(id);
    });
  }

  test("no body at all makes us stumble", () => {
    fc.assert(
      fc.property(jsonValues, (body) => {
        const id = idOf(body);

        expect(id === null || typeof id === "string" || typeof id === "number").toBe(true);
        expect(() => openRequest(body)).toThrow(
          expect.objectContaining({ reason: "InvalidRequest" }),
        );
      }),
    );
    expect(idOf(undefined)).toBeNull();
  });
});
