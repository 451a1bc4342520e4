import fc from "fast-check";
import { expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { TASK_STATES } from "../../model/task.ts";
import { decodeTaskState } from "./task.ts";

verifies(["R25"], "the nine states are read unchanged", () => {
  expect(TASK_STATES.map(decodeTaskState)).toEqual(TASK_STATES);
});

verifies(["R26"], "the spellings of early servers are understood", () => {
  expect(decodeTaskState("started")).toBe("submitted");
  expect(decodeTaskState("cancelled")).toBe("canceled");
});

test("a state this version does not know is undefined, not a guess", () => {
  const known = new Set<string>([...TASK_STATES, "started", "cancelled"]);
  const unknown = fc.oneof(fc.string(), fc.constantFrom("constructor", "toString", "__proto__"));
  fc.assert(
    fc.property(unknown, (value) => {
      fc.pre(!known.has(value));

      expect(decodeTaskState(value)).toBeUndefined();
    }),
  );
  for (const value of [undefined, null, 2, {}, ["working"], "TASK_STATE_WORKING", "Working"]) {
    expect(decodeTaskState(value)).toBeUndefined();
  }
});
