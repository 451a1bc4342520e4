import type { FaultScenario } from "../../client-faults/index.ts";
import type { Outcome } from "./client-under-test.ts";
import { isSame, told } from "./judge.ts";

/** The possible outcomes in the table. */
export type Verdict =
  /** The exact result, or a clear error if there is none. */
  | "right"
  /** Something else, which the specification leaves to the client. */
  | "allowed"
  /** A clear error although the result was available. */
  | "gives up"
  /** The events end without an error before the task does, so that the user has to notice. */
  | "cut short"
  /** A result that is not the agent's, or not of the types that the client declares. */
  | "wrong result"
  /** An error of the language or the platform that says nothing about the agent. */
  | "raw error"
  | "hang";

export interface Judged {
  readonly verdict: Verdict;
  /** What was received, in short; absent if it is right. */
  readonly came: string;
}

/** Judges any client by the scenario alone, independent of our own error names. */
export function judge(outcome: Outcome, scenario: FaultScenario): Judged {
  const verdict = verdictOn(outcome, scenario);
  if (verdict === "right") return { verdict, came: "" };
  const isForeign = outcome.kind === "error" && isHandedOn(outcome.error);
  return { verdict, came: isForeign ? "it hands on what is not of its types" : told(outcome) };
}

function verdictOn(outcome: Outcome, { right, beyond, asks }: FaultScenario): Verdict {
  if (outcome.kind === "hang") return "hang";
  if (outcome.kind === "answer") {
    const results = "text" in right ? [right] : "or" in right && right.or ? [right.or] : [];
    if (results.some((result) => isSame(outcome, result))) return "right";
    if (beyond !== undefined) return "allowed";
    const isStream = asks === "stream" || asks === "subscribe";
    return isStream && isUnfinished(outcome) ? "cut short" : "wrong result";
  }
  if (isHandedOn(outcome.error)) {
    // A client that may leave one fault to its user may leave this one as well.
    return "text" in right || beyond !== undefined ? "allowed" : "wrong result";
  }
  if ("aborted" in right) return isReason(outcome.error, right.aborted) ? "right" : "raw error";
  if (isRaw(outcome.error)) return "raw error";
  if (!("text" in right)) return "right";
  return beyond === undefined ? "gives up" : "allowed";
}

function isUnfinished({
  state,
  text,
}: {
  readonly state?: string;
  readonly text: string;
}): boolean {
  return state === undefined ? text === "" : state === "working" || state === "submitted";
}

/**
 * Whether the error is ours: the SDK accepted an invalid response, and our code failed to read it.
 */
function isHandedOn(error: unknown): boolean {
  const [, place = ""] = (error as Error | undefined)?.stack?.split(/\n\s+at /) ?? [];
  return place.includes("/test/interop/");
}

/** The caller's own reason, or a generic abort error. */
function isReason(error: unknown, reason: RegExp): boolean {
  return error instanceof Error && (reason.test(error.message) || error.name === "AbortError");
}

const RAW = ["TypeError", "SyntaxError", "RangeError", "ReferenceError", "AbortError"];

function isRaw(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof DOMException) return true;
  return RAW.includes(error.name);
}
