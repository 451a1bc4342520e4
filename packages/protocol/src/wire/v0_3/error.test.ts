import { expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { A2AError, invalidParams } from "../../errors.ts";
import { encodeError } from "./error.ts";

verifies(["R5", "R7"], "an error of 0.3 says why and which field", () => {
  expect(encodeError(invalidParams("message.parts", "must not be empty"))).toEqual({
    code: -32602,
    message: "Invalid parameters: message.parts must not be empty",
    data: { reason: "message.parts must not be empty", field: "message.parts" },
  });
});

verifies(["R4"], "the facts of an error stand beside its reason", () => {
  const error = new A2AError("MethodNotFound", "there is no method tasks/dance", {
    details: { method: "tasks/dance" },
  });

  expect(encodeError(error)).toEqual({
    code: -32601,
    message: "Method not found: there is no method tasks/dance",
    data: { reason: "there is no method tasks/dance", method: "tasks/dance" },
  });
});

test("what was hidden stays hidden on the wire", () => {
  const error = A2AError.from(new Error("password is hunter2"), "e-17");

  expect(JSON.stringify(encodeError(error))).not.toContain("hunter2");
  expect(encodeError(error)).toMatchObject({ code: -32603, data: { errorId: "e-17" } });
});
