import { ClientError, RemoteError } from "@convoke/protocol";
import { isTaskNotFound } from "../run/failures.ts";
import type { Clock } from "./clock.ts";
import type { Invocation } from "./invocation.ts";
import {
  type RemoteInvocationResult,
  type Standing,
  failure,
  resultOf,
} from "./invocation-result.ts";
import { reasonOf } from "./step-failure.ts";
import { within } from "./within.ts";

/** Behind one address may be several machines, and not each knows the task at once. */
const MOST_NOT_FOUND = 3;

export interface Following {
  readonly invocation: Invocation;
  readonly first: Standing;
  readonly clock: Clock;
  /** How long one look may take. */
  readonly pollMs: number;
  readonly signal: AbortSignal;
}

/** Looks at the task again and again until it has a result, or until the signal aborts. */
export async function followInvocation(following: Following): Promise<RemoteInvocationResult> {
  const { invocation, first, clock, pollMs, signal } = following;
  const { taskId } = first;
  const error = new ClientError("unreachable", `no answer within ${pollMs}ms`);
  let result = resultOf(first);
  let notFound = 0;
  for (let looks = 1; result === undefined; looks += 1) {
    try {
      const standing = await within({ clock, ms: pollMs, signal, error }, (stop) =>
        invocation.get(taskId, stop),
      );
      notFound = 0;
      result = resultOf({ ...standing, taskId });
    } catch (problem) {
      signal.throwIfAborted();
      notFound = isNotFound(problem) ? notFound + 1 : 0;
      if (notFound >= MOST_NOT_FOUND || isFinal(problem)) {
        return failure(taskId, `Poll failed: ${reasonOf(problem)}`);
      }
    }
    if (result === undefined) await clock.sleep(invocation.waitMs(looks), signal);
  }
  return result;
}

function isNotFound(problem: unknown): boolean {
  return isTaskNotFound(problem) || (problem instanceof RemoteError && problem.httpStatus === 404);
}

/** Too early, too often, too slow: another look may go better. */
const PASSING: ReadonlySet<number> = new Set([404, 408, 425, 429]);

/** Whether no later look can go better: the caller is not let in, or its address is not. */
function isFinal(problem: unknown): boolean {
  if (problem instanceof ClientError) return problem.kind === "refused";
  if (!(problem instanceof RemoteError)) throw problem;
  const { httpStatus } = problem;
  return httpStatus >= 400 && httpStatus < 500 && !PASSING.has(httpStatus);
}
