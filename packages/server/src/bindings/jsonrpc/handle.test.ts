import { OPERATIONS, type OperationName } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { openMethod } from "./handle.ts";

function aCall(method: string) {
  return { id: 1, method, params: {} };
}

describe("the method decides the version", () => {
  for (const operation of Object.keys(OPERATIONS) as OperationName[]) {
    const { method, methods03 } = OPERATIONS[operation];

    test(`${operation}, regardless of the header`, () => {
      for (const asked of [undefined, "0.3", "1.0"] as const) {
        expect(openMethod(aCall(method), asked)).toMatchObject({
          operation,
          codec: { version: "1.0" },
        });
        for (const name of methods03) {
          expect(openMethod(aCall(name), asked)).toMatchObject({
            operation,
            codec: { version: "0.3" },
          });
        }
      }
    });
  }
});

for (const method of ["", "tasks/list", "sendMessage", "message/Send", "toString", "__proto__"]) {
  verifies("R4", `${JSON.stringify(method)} is not a method`, () => {
    expect(() => openMethod(aCall(method), undefined)).toThrow(
      expect.objectContaining({ reason: "MethodNotFound", details: { method } }),
    );
  });
}
