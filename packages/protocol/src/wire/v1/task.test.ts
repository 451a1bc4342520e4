import fc from "fast-check";
import { expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { TASK_STATES } from "../../model/task.ts";
import { decodeTaskState, encodeTaskState } from "./task.ts";

verifies(["R25"], "each of the nine states has its 1.0 name", () => {
  const names = Object.fromEntries(TASK_STATES.map((state) => [state, encodeTaskState(state)]));

  expect(names).toEqual({
    submitted: "TASK_STATE_SUBMITTED",
    working: "TASK_STATE_WORKING",
    "input-required": "TASK_STATE_INPUT_REQUIRED",
    "auth-required": "TASK_STATE_AUTH_REQUIRED",
    completed: "TASK_STATE_COMPLETED",
    canceled: "TASK_STATE_CANCELED",
    failed: "TASK_STATE_FAILED",
    rejected: "TASK_STATE_REJECTED",
    unknown: "TASK_STATE_UNSPECIFIED",
  });
  expect(TASK_STATES.map((state) => decodeTaskState(encodeTaskState(state)))).toEqual(TASK_STATES);
});

test("a state this version does not know is undefined, not a guess", () => {
  const known = new Set(TASK_STATES.map(encodeTaskState));
  const unknown = fc.oneof(fc.string(), fc.constantFrom(...TASK_STATES, "constructor"));
  fc.assert(
    fc.property(unknown, (value) => {
      fc.pre(!known.has(value));

      expect(decodeTaskState(value)).toBeUndefined();
    }),
  );
  for (const value of [undefined, null, {}, ["TASK_STATE_WORKING"], "TASK_STATE_DONE"]) {
    expect(decodeTaskState(value)).toBeUndefined();
  }
});
