import fc from "fast-check";
import { expect, test } from "vitest";
import { relayedId } from "./child-question.ts";

const facts = fc.record({
  toolCallId: fc.string({ minLength: 1, maxLength: 200 }),
  childTaskId: fc.string({ minLength: 1, maxLength: 200 }),
  question: fc.integer({ min: 1, max: 100 }),
  childId: fc.string({ maxLength: 300 }),
});

test("the id of a request is the same for the same request, and for no other", () => {
  fc.assert(
    fc.property(facts, facts, (one, other) => {
      const isSame = JSON.stringify(one) === JSON.stringify(other);
      expect(relayedId(one)).toBe(relayedId({ ...one }));
      expect(relayedId(one) === relayedId(other)).toBe(isSame);
    }),
  );
});

test("it is short at any depth, and distinguishes questions, calls and agents there", () => {
  fc.assert(
    fc.property(fc.array(facts, { minLength: 1, maxLength: 64 }), facts, (hops, last) => {
      const up = (childId: string): string =>
        hops.reduce((id, hop) => relayedId({ ...hop, childId: id }), childId);
      const id = up(last.childId);
      expect(id.length).toBeLessThanOrEqual(128);
      expect(up(`${last.childId}!`)).not.toBe(id);
    }),
  );
});
