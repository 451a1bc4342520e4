import { EXTENSIONS } from "@convoke/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { budgetShare } from "./run-sub-agents.ts";
import { ChildCall } from "./child-call.ts";

const { uri } = EXTENSIONS.budget;

function aCall(handed: object): ChildCall {
  const call = new ChildCall({ starts: [], interrupts: [], approvals: [] });
  call.sent = { messageId: "m", childContextId: "c", handed: { [uri]: handed } };
  return call;
}

test("calls in any order, some of them already finished, never use more than the budget", () => {
  fc.assert(
    fc.property(
      fc.nat(1_000_000),
      fc.array(fc.option(fc.double({ min: 0, max: 1, noNaN: true })), { maxLength: 12 }),
      (tokens, uses) => {
        const begun: ChildCall[] = [];
        for (const [place, use] of uses.entries()) {
          const share = budgetShare({ tokens }, begun, uses.length - place);
          const call = aCall(share);
          // Some have ended before the next one starts.
          if (use !== null) call.used = { calls: 1, tokens: Math.floor(share.tokens! * use) };
          begun.push(call);
        }
        const promised = begun.reduce((sum, { claim }) => sum + claim.tokens!, 0);
        expect(promised).toBeLessThanOrEqual(tokens);
      },
    ),
  );
});

test("a single call gets everything, and unlimited resources are not named", () => {
  expect(budgetShare({ tokens: 7, costUsd: 0.5 }, [], 1)).toEqual({ tokens: 7, costUsd: 0.5 });
  expect(budgetShare({ costUsd: 0.5 }, [aCall({ costUsd: 0.2 })], 2)).toEqual({ costUsd: 0.15 });
  expect(budgetShare({}, [], 3)).toEqual({});
});

test("a call that has used more than its share leaves nothing, and not less than that", () => {
  const call = aCall({ tokens: 5 });
  call.used = { calls: 1, tokens: 50 };

  expect(budgetShare({ tokens: 10 }, [call], 1)).toEqual({ tokens: 0 });
});
