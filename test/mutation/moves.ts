import type { A2APart, Approval } from "@convoke/protocol";
import { digestArguments } from "@convoke/runtime";
import fc from "fast-check";
import { answerTo } from "../loop/approval-parts.ts";

/** What a caller may do when a task asks. `which` picks among what is or was pending. */
export type Move =
  | { readonly kind: "once" | "conversation" | "always" | "reject"; readonly which: number }
  | { readonly kind: "edit"; readonly which: number; readonly n: number }
  | { readonly kind: "all" }
  /** About something other than what is asked. */
  | { readonly kind: "other-digest" | "stale" | "made-up" | "half-wrong"; readonly which: number }
  | { readonly kind: "words"; readonly text: string };

/** When the process dies: not at all, before the answer, or this many events after it arrived. */
export type Death = "none" | "before" | number;

const which = fc.nat(5);
const arguments_ = fc.nat(3);

export const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("once" as const), which }) },
  fc.record({ kind: fc.constant("conversation" as const), which }),
  fc.record({ kind: fc.constant("always" as const), which }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reject" as const), which }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("edit" as const), which, n: arguments_ }) },
  fc.constant({ kind: "all" as const }),
  fc.record({ kind: fc.constantFrom("other-digest" as const, "stale" as const), which }),
  fc.record({ kind: fc.constantFrom("made-up" as const, "half-wrong" as const), which }),
  fc.record({
    kind: fc.constant("words" as const),
    text: fc.constantFrom("approve", "yes", "no", "go on", "approve it all"),
  }),
);

export const death: fc.Arbitrary<Death> = fc.oneof(
  { weight: 4, arbitrary: fc.constant("none" as const) },
  fc.constant("before" as const),
  fc.integer({ min: 1, max: 8 }),
);

/** A tool may run with these arguments, or with any from now on. */
export type Permission =
  | { readonly toolCallId: string; readonly digest: string }
  | { readonly toolName: string };

/** The message of a move, and what it permits: nothing else has been approved. */
export function messageOf(
  made: Move,
  open: readonly Approval[],
  facts: { readonly earlier: readonly Approval[]; readonly acceptPlainText: boolean },
): { readonly content: string | readonly A2APart[]; readonly permits: readonly Permission[] } {
  const approval = "which" in made ? open[made.which % open.length]! : open[0]!;
  const allowed = permission(approval);
  const once = answerTo(approval, { option: "once" });
  switch (made.kind) {
    case "once":
      return { content: [once], permits: [allowed] };
    case "reject":
      return { content: [answerTo(approval, { option: "reject" })], permits: [] };
    case "conversation":
    case "always":
      return {
        content: [answerTo(approval, { option: made.kind })],
        permits: [allowed, { toolName: approval.tool.name }],
      };
    case "edit": {
      const edited = { n: made.n };
      const content = [answerTo(approval, { option: "edit", arguments: edited })];
      return { content, permits: [{ ...allowed, digest: digestArguments(edited) }] };
    }
    case "all":
      return {
        content: open.map((each) => answerTo(each, { option: "once" })),
        permits: open.map(permission),
      };
    case "other-digest":
      return { content: [other(approval)], permits: [] };
    case "half-wrong":
      return open.length === 1
        ? { content: [other(approval)], permits: [] }
        : {
            content: open.map((each, n) =>
              n === 0 ? other(each) : answerTo(each, { option: "once" }),
            ),
            permits: [],
          };
    case "stale": {
      // What was pending at an earlier question may still be pending.
      const gone = facts.earlier.filter(({ id }) => open.every((each) => each.id !== id));
      const old = gone[made.which % Math.max(1, gone.length)];
      const stale = old === undefined ? other(approval) : answerTo(old, { option: "once" });
      return { content: [stale], permits: [] };
    }
    case "made-up":
      return {
        content: [answerTo({ ...approval, id: "made-up" }, { option: "once" })],
        permits: [],
      };
    case "words": {
      const isApproved =
        facts.acceptPlainText && open.length === 1 && /^(approve|yes)$/.test(made.text);
      return { content: made.text, permits: isApproved ? [allowed] : [] };
    }
  }
}

function permission({ tool, digest }: Approval): { toolCallId: string; digest: string } {
  return { toolCallId: tool.callId, digest };
}

function other(approval: Approval): A2APart {
  const digest = digestArguments({ n: 99 });
  return answerTo({ ...approval, digest }, { option: "once" });
}
