import { ClientError, type RawCard, RemoteError } from "@convoke/protocol";
import {
  type Clock,
  SYSTEM_CLOCK,
  parseBaseUrl,
  checkMs,
  checkCredentialsBound,
  withTimeLimit,
} from "./peer.ts";
import { ExternalServiceError, ValidationError } from "./errors.ts";
import {
  type Invocation,
  type InvokeOptions,
  type InvocationRequest,
  type RemoteInvocationResult,
  type TaskProgress,
  failure,
  toResult,
} from "./invocation.ts";
import { MAX_DEPTH, checkInvocation, REFUSED } from "./invocation-guard.ts";
import { isTaskNotFound, errorMessage } from "../run/failures.ts";
import { A2aInvocation } from "./a2a-invocation.ts";
import { readCard } from "./fetch-agent-card.ts";
import { LegacyInvocation } from "./legacy-invocation.ts";
import { isHeaderValue } from "../auth/headers.ts";

const TIMEOUT_MS = 5 * 60_000;

/** What only cards of A2A have: the list of 1.0, then the fields of 0.3. */
const LISTS = ["supportedInterfaces", "additionalInterfaces"];

const WORDS = ["protocolVersion", "preferredTransport"];

/** Agents of the polling protocol need no card; those of A2A do. */
const NO_CARD: ReadonlySet<number | undefined> = new Set([404, 410]);

/** Behind one address may be several machines, and not each knows the task at once. */
const MOST_NOT_FOUND = 3;

/** Too early, too often, too slow: another look may go better. */
const PASSING: ReadonlySet<number> = new Set([404, 408, 425, 429]);

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
    return await withTimeLimit({ clock, ms, signal, error: timeUp }, async (stop) => {
      const refusal = await checkInvocation(base, options);
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
  order: InvocationRequest,
  { clock, stop, onTask }: Running,
): Promise<RemoteInvocationResult> {
  const { submitMs = SUBMIT_TIMEOUT_MS, pollMs = POLL_TIMEOUT_MS } = order.options.limits ?? {};
  const invocation = await attempt(() => openInvocation(order, stop), stop);
  if (invocation instanceof Problem) return failure("", invocation.text);
  try {
    const error = new ClientError("unreachable", `no answer within ${submitMs}ms`);
    const limit = { clock, ms: submitMs, signal: stop, error };
    const first = await attempt<TaskProgress>(
      () => withTimeLimit(limit, (own) => invocation.submit(own)),
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

interface Following {
  readonly invocation: Invocation;
  readonly first: TaskProgress;
  readonly clock: Clock;
  /** How long one look may take. */
  readonly pollMs: number;
  readonly signal: AbortSignal;
}

/** Looks at the task again and again until it has a result, or until the signal aborts. */
async function followInvocation(following: Following): Promise<RemoteInvocationResult> {
  const { invocation, first, clock, pollMs, signal } = following;
  const { taskId } = first;
  const error = new ClientError("unreachable", `no answer within ${pollMs}ms`);
  let result = toResult(first);
  let notFound = 0;
  for (let looks = 1; result === undefined; looks += 1) {
    try {
      const standing = await withTimeLimit({ clock, ms: pollMs, signal, error }, (stop) =>
        invocation.get(taskId, stop),
      );
      notFound = 0;
      result = toResult({ ...standing, taskId });
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

/** Whether no later look can go better: the caller is not let in, or its address is not. */
function isFinal(problem: unknown): boolean {
  if (problem instanceof ClientError) return problem.kind === "refused";
  if (!(problem instanceof RemoteError)) throw problem;
  const { httpStatus } = problem;
  return httpStatus >= 400 && httpStatus < 500 && !PASSING.has(httpStatus);
}

/** Chooses the protocol by one look at the card, before anything is sent. */
async function openInvocation(order: InvocationRequest, signal: AbortSignal): Promise<Invocation> {
  const { protocol = "auto", limits, signatures } = order.options;
  if (protocol === "legacy") return new LegacyInvocation(order);
  // Who demands a signed card must not be led to a protocol that looks at none.
  const mustBeA2a = protocol === "a2a" || signatures === "require";
  try {
    const reading = { ...order.options, signal, timeoutMs: limits?.cardMs };
    const card = await readCard(order.base, reading);
    const isA2a = mustBeA2a || speaksA2a(card);
    return isA2a ? new A2aInvocation(order, card) : new LegacyInvocation(order);
  } catch (error) {
    const hasNone = error instanceof ExternalServiceError && NO_CARD.has(error.status);
    if (hasNone && !mustBeA2a) return new LegacyInvocation(order);
    throw error;
  }
}

/**
 * Whether a card says how its agent speaks A2A. A `url` alone is not enough,
 * because cards of the polling protocol have one too.
 */
function speaksA2a(card: RawCard): boolean {
  return (
    LISTS.some((field) => Array.isArray(card[field]) && card[field].length > 0) ||
    WORDS.some((field) => typeof card[field] === "string")
  );
}

/** The call as it was asked for, or an error that names what is wrong with it. */
function readOrder(baseUrl: string, message: string, options: InvokeOptions): InvocationRequest {
  const { depth = 1, maxDepth = MAX_DEPTH, timeoutMs = TIMEOUT_MS, limits = {} } = options;
  const { protocol = "auto", sourceAgent = "" } = options;
  const base = parseBaseUrl(baseUrl);
  if (typeof message !== "string" || message.trim() === "")
    throw wrong("message", "must not be blank");
  checkMs("timeoutMs", timeoutMs);
  for (const [name, ms] of Object.entries(limits)) checkMs(`limits.${name}`, ms);
  refuseUnlessDepth("depth", depth);
  refuseUnlessDepth("maxDepth", maxDepth);
  if (!["auto", "a2a", "legacy"].includes(protocol)) {
    throw wrong("protocol", `must be "auto", "a2a" or "legacy", not "${protocol}"`);
  }
  if (!isHeaderValue(sourceAgent)) {
    throw wrong("sourceAgent", "holds characters that no header can have; use plain ASCII");
  }
  checkCredentialsBound(options);
  return { base, message, depth, timeoutMs, options };
}

function refuseUnlessDepth(field: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw wrong(field, `must be a whole number of at least 1, not ${value}`);
}

function wrong(field: string, problem: string): ValidationError {
  return new ValidationError(`${field} ${problem}`, { field });
}

/** Why a step failed: the HTTP status where there is one, then what the agent says about it. */
function reasonOf(problem: unknown): string {
  const words = errorMessage(problem);
  if (!(problem instanceof RemoteError) || problem.httpStatus < 400) return words;
  const title = `HTTP ${problem.httpStatus}`;
  // The status is in the words already where the agent found none of its own.
  if (words === "" || words.startsWith(title)) return words || title;
  return `${title} — ${words}`;
}
