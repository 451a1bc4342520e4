import { RemoteError } from "@convoke/protocol";
import { sentenceOf } from "../run/failures.ts";

/** Why a step failed: the HTTP status where there is one, then what the agent says about it. */
export function reasonOf(problem: unknown): string {
  const words = sentenceOf(problem);
  if (!(problem instanceof RemoteError) || problem.httpStatus < 400) return words;
  const title = `HTTP ${problem.httpStatus}`;
  // The status is in the words already where the agent found none of its own.
  if (words === "" || words.startsWith(title)) return words || title;
  return `${title} — ${words}`;
}
