import fc from "fast-check";
import { expect, test } from "vitest";
import { TASK_STATES } from "../../model/task.ts";
import { decodeTaskState, encodeTaskState } from "./task.ts";

test("every state has a name, and is found by it", () => {
  expect(TASK_STATES.map((state) => decodeTaskState(encodeTaskState(state)))).toEqual(TASK_STATES);
});

test("a state is found by its number in the proto", () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7, 8].map(decodeTaskState)).toEqual([
    "unknown",
    "submitted",
    "working",
    "completed",
    "failed",
    "canceled",
    "input-required",
    "rejected",
    "auth-required",
  ]);
});

test("canceled is written with two l, and read with either, and in lower case", () => {
  expect(encodeTaskState("canceled")).toBe("TASK_STATE_CANCELLED");
  expect(decodeTaskState("TASK_STATE_CANCELED")).toBe("canceled");
  expect(decodeTaskState("canceled")).toBe("canceled");
  expect(decodeTaskState("cancelled")).toBe("canceled");
});

test("a state this version does not know is undefined, not a guess", () => {
  const unknown = fc.oneof(
    fc.string().map((text) => `TASK_STATE_X${text}`),
    fc.integer({ min: 9 }),
    fc.constantFrom(undefined, null, {}, ["working"], "constructor", "__proto__", -1, 1.5, "1"),
  );
  fc.assert(
    fc.property(unknown, (value) => {
      expect(decodeTaskState(value)).toBeUndefined();
    }),
  );
});
