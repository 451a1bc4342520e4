import { ClientError, RemoteError } from "@convoke/protocol";
import type { ExpectedAnswer, Right } from "../../client-faults/index.ts";
import type { Outcome } from "./client-under-test.ts";

/** What is wrong with an outcome of our own client; `undefined` if it is exactly right. */
export function complaintAbout(outcome: Outcome, right: Right): string | undefined {
  if (outcome.kind === "hang") return `nothing came within ${outcome.afterMs} ms`;
  if (outcome.kind === "answer") {
    if (!("text" in right)) return `an answer came: ${told(outcome)}`;
    return isSame(outcome, right) ? undefined : `another answer came: ${told(outcome)}`;
  }
  const { error } = outcome;
  const words = told(outcome);
  if ("text" in right) return `an error came: ${words}`;
  if ("aborted" in right) {
    return error instanceof Error && right.aborted.test(error.message) ? undefined : words;
  }
  const isKind = isExpected(error, right);
  return isKind && right.says.test((error as Error).message)
    ? undefined
    : `another error came: ${words}`;
}

function isExpected(error: unknown, right: Exclude<Right, ExpectedAnswer>): boolean {
  if ("error" in right) return error instanceof ClientError && error.kind === right.error;
  if (!(error instanceof RemoteError)) return false;
  if ("code" in right) return error.code === right.code;
  return "httpStatus" in right && error.httpStatus === right.httpStatus && error.code === undefined;
}

export function isSame(outcome: ExpectedAnswer, { text, state }: ExpectedAnswer): boolean {
  return outcome.text === text && outcome.state === state;
}

/** The outcome in short. */
export function told(outcome: Outcome): string {
  switch (outcome.kind) {
    case "hang":
      return `nothing within ${outcome.afterMs / 1000} s`;
    case "answer":
      return `${outcome.state ?? "message"} ${JSON.stringify(shortened(outcome.text))}`;
    case "error":
      return shortened(errorWords(outcome.error));
    default:
      return outcome satisfies never;
  }
}

function errorWords(error: unknown): string {
  if (!(error instanceof Error)) return `not an error: ${String(error)}`;
  const kind = error instanceof ClientError ? ` (${error.kind})` : "";
  const code = error instanceof RemoteError ? ` (${error.code ?? error.httpStatus})` : "";
  return `${error.name}${kind}${code}: ${error.message}`;
}

function shortened(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}… (${text.length} letters)` : text;
}
