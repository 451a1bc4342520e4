import fc from "fast-check";
import { expect } from "vitest";
import { verifies } from "../verifies.ts";
import { type Calls, type GuardedStory, playGuarded } from "./guarded-story.ts";
import { death, move } from "./moves.ts";

// The short form; `npm run test:mutation` runs the full size.
const RUNS = Number(process.env["CONVOKE_GATE_RUNS"] ?? 40);
/** If it is enough to know that something is wrong. */
const ENDS_EARLY = process.env["CONVOKE_GATE_END"] === "first";

const calls: fc.Arbitrary<Calls> = fc.array(
  fc.record({ toolName: fc.constantFrom("delete" as const, "send" as const), n: fc.nat(3) }),
  { minLength: 1, maxLength: 3 },
);
const story: fc.Arbitrary<GuardedStory> = fc.record({
  answers: fc.array(calls, { minLength: 1, maxLength: 3 }),
  moves: fc.array(fc.record({ move, death }), { maxLength: 8 }),
  acceptPlainText: fc.boolean(),
});

verifies(
  ["G11", "R113"],
  "for all calls, decisions, edits, new messages and kills: what ran was approved, and what was approved ran",
  async () => {
    let executed = 0;
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(story, async (told) => {
        const end = await playGuarded(told);

        executed += end.executed;
        asked += end.asked;
        expect(end).toMatchObject({ state: "completed", unapproved: [], forgotten: [] });
      }),
      { numRuns: RUNS, endOnFailure: ENDS_EARLY },
    );
    // A property that was checked on nothing proves nothing.
    expect(asked).toBeGreaterThan(RUNS);
    expect(executed).toBeGreaterThan(RUNS / 4);
  },
  60_000 + 200 * RUNS,
);
