import fc from "fast-check";
import { expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { jsonValues } from "../testing/arbitraries.suite.ts";
import { errorText, resultPrefix, resultText } from "./response.ts";

const ids = fc.oneof(fc.constantFrom(0, "", null), fc.integer(), fc.string());

verifies(["R7"], "an answer repeats the id of its request, whatever that is", () => {
  fc.assert(
    fc.property(ids, jsonValues, (id, value) => {
      const result: unknown = JSON.parse(resultText(id, JSON.stringify(value)));
      const error: unknown = JSON.parse(errorText(id, { code: -32603, message: "no" }));

      expect(result).toStrictEqual({ jsonrpc: "2.0", id, result: value });
      expect(error).toStrictEqual({ jsonrpc: "2.0", id, error: { code: -32603, message: "no" } });
    }),
  );
});

test("readers of one result differ only in what stands before it", () => {
  const result = '{"kind":"task"}';

  expect(resultText(7, result)).toBe(`${resultPrefix(7)}${result}}`);
  expect(resultText("a", result)).toBe(`${resultPrefix("a")}${result}}`);
});

verifies(["R7"], "an error keeps its data", () => {
  const error = { code: -32602, message: "Invalid parameters", data: { field: "message" } };

  expect(JSON.parse(errorText(1, error))).toEqual({ jsonrpc: "2.0", id: 1, error });
});
