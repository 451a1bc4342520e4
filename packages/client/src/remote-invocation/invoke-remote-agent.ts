import { ClientError, RemoteError } from "@convoke/protocol";
import { type Clock, SYSTEM_CLOCK } from "./clock.ts";
import { ExternalServiceError, ValidationError } from "./errors.ts";
import { followInvocation } from "./follow-invocation.ts";
import type { Order } from "./invocation.ts";
import { REFUSED, refusalOf } from "./invocation-guard.ts";
import { type RemoteInvocationResult, type Standing, failure } from "./invocation-result.ts";
import type { InvokeOptions } from "./invoke-options.ts";
import { openInvocation } from "./open-invocation.ts";
import { readOrder } from "./read-order.ts";
import { reasonOf } from "./step-failure.ts";
import { within } from "./within.ts";

const SUBMIT_TIMEOUT_MS = 30_000;
const POLL_TIMEOUT_MS = 10_000;

/**
 * Has another agent do something and waits for what it says. Whatever the agent
 * or the network does is in the result; it rejects only for wrong arguments (a
 * `ValidationError`, for credentials a `TypeError`) and when the signal aborts. The message is handed
 * over once: a failed call is never made again, and never by another protocol.
 */
export async function invokeRemoteAgent(
  baseUrl: string,
  message: string,
  options: InvokeOptions = {},
): Promise<RemoteInvocationResult> {
  const order = readOrder(baseUrl, message, options);
  const { clock = SYSTEM_CLOCK, signal, onStatus } = options;
  const { timeoutMs: ms, base } = order;
  const timeUp = new Error(`Timed out after ${ms}ms`);
  const known = { taskId: "" };
  try {
    return await within({ clock, ms, signal, error: timeUp }, async (stop) => {
      const refusal = await refusalOf(base, options);
      if (refusal !== undefined) {
        options.onRefusal?.(refusal);
        return failure("", REFUSED);
      }
      onStatus?.(`Invoking remote agent at ${base}...`);
      const result = await run(order, { clock, stop, onTask: (id) => (known.taskId = id) });
      if (result.success) onStatus?.("Received response from remote agent");
      return result;
    });
  } catch (error) {
    if (error === timeUp) return failure(known.taskId, timeUp.message);
    throw error;
  }
}

interface Running {
  readonly clock: Clock;
  readonly stop: AbortSignal;
  readonly onTask: (taskId: string) => void;
}

async function run(
  order: Order,
  { clock, stop, onTask }: Running,
): Promise<RemoteInvocationResult> {
  const { submitMs = SUBMIT_TIMEOUT_MS, pollMs = POLL_TIMEOUT_MS } = order.options.limits ?? {};
  const invocation = await attempt(() => openInvocation(order, stop), stop);
  if (invocation instanceof Problem) return failure("", invocation.text);
  try {
    const error = new ClientError("unreachable", `no answer within ${submitMs}ms`);
    const limit = { clock, ms: submitMs, signal: stop, error };
    const first = await attempt<Standing>(
      () => within(limit, (own) => invocation.submit(own)),
      stop,
    );
    if (first instanceof Problem) return failure("", `Submit failed: ${first.text}`);
    onTask(first.taskId);
    return await followInvocation({ invocation, first, clock, pollMs, signal: stop });
  } finally {
    invocation.close();
  }
}

/** What went wrong over there, in words. */
class Problem {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Does a step; what the other side or the way there did wrong is told, all else is thrown. */
async function attempt<T>(step: () => Promise<T>, stop: AbortSignal): Promise<T | Problem> {
  try {
    return await step();
  } catch (error) {
    stop.throwIfAborted();
    const isTheirs =
      error instanceof ClientError ||
      error instanceof RemoteError ||
      error instanceof ExternalServiceError ||
      error instanceof ValidationError;
    if (!isTheirs) throw error;
    return new Problem(reasonOf(error));
  }
}
