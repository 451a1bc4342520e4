import { ClientError, type RawCard, RemoteError } from "@convoke/protocol";
import {
  type Clock,
  SYSTEM_CLOCK,
  checkCredentialsBound,
  checkMs,
  parseBaseUrl,
  withTimeLimit,
} from "./peer.ts";
import { ExternalServiceError, ValidationError } from "./errors.ts";
import {
  type Invocation,
  type InvocationRequest,
  type InvokeOptions,
  type RemoteInvocationResult,
  type TaskProgress,
  failure,
  toResult,
} from "./invocation.ts";
import { MAX_DEPTH, REFUSED, checkInvocation } from "./invocation-guard.ts";
import { errorMessage, isTaskNotFound } from "../run/failures.ts";
import { A2aInvocation } from "./a2a-invocation.ts";
import { readCard } from "./fetch-agent-card.ts";
import { LegacyInvocation } from "./legacy-invocation.ts";
import { isHeaderValue } from "../auth/headers.ts";

/**
 * Sends a message to another agent and waits for its answer. Failures of the agent or the network are
 * in the result; it rejects only for invalid arguments (`ValidationError`, for credentials
 * `TypeError`) and if the signal aborts. The message is sent once: a failed call is never repeated,
 * and never in the other protocol.
 */
export async function invokeRemoteAgent(
  baseUrl: string,
  message: string,
  options: InvokeOptions = {},
): Promise<RemoteInvocationResult> {
  const request = checkArguments(baseUrl, message, options);
  const { clock = SYSTEM_CLOCK, signal, onStatus } = options;
  const { timeoutMs: ms, base } = request;
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
      const result = await run(request, { clock, stop, onTask: (id) => (known.taskId = id) });
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

const POLL_TIMEOUT_MS = 10_000;

const SUBMIT_TIMEOUT_MS = 30_000;

async function run(
  request: InvocationRequest,
  { clock, stop, onTask }: Running,
): Promise<RemoteInvocationResult> {
  const { submitMs = SUBMIT_TIMEOUT_MS, pollMs = POLL_TIMEOUT_MS } = request.options.limits ?? {};
  const invocation = await attempt(() => openInvocation(request, stop), stop);
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

/** A failure of the agent or the network. */
class Problem {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Runs a step; failures of the agent or the network are returned, everything else is thrown. */
async function attempt<T>(step: () => Promise<T>, stop: AbortSignal): Promise<T | Problem> {
  try {
    return await step();
  } catch (error) {
    stop.throwIfAborted();
    const isRemoteFailure =
      error instanceof ClientError ||
      error instanceof RemoteError ||
      error instanceof ExternalServiceError ||
      error instanceof ValidationError;
    if (!isRemoteFailure) throw error;
    return new Problem(describeFailure(error));
  }
}

interface Following {
  readonly invocation: Invocation;
  readonly first: TaskProgress;
  readonly clock: Clock;
  /** Time limit of one poll. */
  readonly pollMs: number;
  readonly signal: AbortSignal;
}

/** Several machines may share one URL, and not all of them know the task at once. */
const MAX_NOT_FOUND = 3;

/** Polls the task until it has a result or the signal aborts. */
async function followInvocation(following: Following): Promise<RemoteInvocationResult> {
  const { invocation, first, clock, pollMs, signal } = following;
  const { taskId } = first;
  const error = new ClientError("unreachable", `no answer within ${pollMs}ms`);
  let result = toResult(first);
  let notFound = 0;
  for (let polls = 1; result === undefined; polls += 1) {
    try {
      const progress = await withTimeLimit({ clock, ms: pollMs, signal, error }, (stop) =>
        invocation.get(taskId, stop),
      );
      notFound = 0;
      result = toResult({ ...progress, taskId });
    } catch (problem) {
      signal.throwIfAborted();
      notFound = isNotFound(problem) ? notFound + 1 : 0;
      if (notFound >= MAX_NOT_FOUND || isFinal(problem)) {
        return failure(taskId, `Poll failed: ${describeFailure(problem)}`);
      }
    }
    if (result === undefined) await clock.sleep(invocation.waitMs(polls), signal);
  }
  return result;
}

function isNotFound(problem: unknown): boolean {
  return isTaskNotFound(problem) || (problem instanceof RemoteError && problem.httpStatus === 404);
}

/** Statuses after which another poll may succeed. */
const PASSING: ReadonlySet<number> = new Set([404, 408, 425, 429]);

/** Whether no later poll can succeed: the caller is not authorized, or the URL is forbidden. */
function isFinal(problem: unknown): boolean {
  if (problem instanceof ClientError) return problem.kind === "refused";
  if (!(problem instanceof RemoteError)) throw problem;
  const { httpStatus } = problem;
  return httpStatus >= 400 && httpStatus < 500 && !PASSING.has(httpStatus);
}

/** Statuses that mean "no card": agents of the polling protocol need none, A2A agents do. */
const NO_CARD: ReadonlySet<number | undefined> = new Set([404, 410]);

/** Chooses the protocol by the card, before anything is sent. */
async function openInvocation(
  request: InvocationRequest,
  signal: AbortSignal,
): Promise<Invocation> {
  const { protocol = "auto", limits, signatures } = request.options;
  if (protocol === "legacy") return new LegacyInvocation(request);
  // A caller who requires a signed card must not end up in a protocol without cards.
  const mustBeA2a = protocol === "a2a" || signatures === "require";
  try {
    const reading = { ...request.options, signal, timeoutMs: limits?.cardMs };
    const card = await readCard(request.base, reading);
    const isA2a = mustBeA2a || speaksA2a(card);
    return isA2a ? new A2aInvocation(request, card) : new LegacyInvocation(request);
  } catch (error) {
    const hasNone = error instanceof ExternalServiceError && NO_CARD.has(error.status);
    if (hasNone && !mustBeA2a) return new LegacyInvocation(request);
    throw error;
  }
}

const TEXTS = ["protocolVersion", "preferredTransport"];

/** Fields that only A2A cards have: lists of 1.0 and 0.3, then text fields of 0.3. */
const LISTS = ["supportedInterfaces", "additionalInterfaces"];

/**
 * Whether a card describes A2A interfaces. A `url` alone is not enough, because cards of the polling
 * protocol have one too.
 */
function speaksA2a(card: RawCard): boolean {
  return (
    LISTS.some((field) => Array.isArray(card[field]) && card[field].length > 0) ||
    TEXTS.some((field) => typeof card[field] === "string")
  );
}

const TIMEOUT_MS = 5 * 60_000;

/** Validates the arguments; errors name the invalid one. */
function checkArguments(
  baseUrl: string,
  message: string,
  options: InvokeOptions,
): InvocationRequest {
  const { depth = 1, maxDepth = MAX_DEPTH, timeoutMs = TIMEOUT_MS, limits = {} } = options;
  const { protocol = "auto", sourceAgent = "" } = options;
  const base = parseBaseUrl(baseUrl);
  if (typeof message !== "string" || message.trim() === "")
    throw wrong("message", "must not be blank");
  checkMs("timeoutMs", timeoutMs);
  for (const [name, ms] of Object.entries(limits)) checkMs(`limits.${name}`, ms);
  checkDepth("depth", depth);
  checkDepth("maxDepth", maxDepth);
  if (!["auto", "a2a", "legacy"].includes(protocol)) {
    throw wrong("protocol", `must be "auto", "a2a" or "legacy", not "${protocol}"`);
  }
  if (!isHeaderValue(sourceAgent)) {
    throw wrong("sourceAgent", "holds characters that no header can have; use plain ASCII");
  }
  checkCredentialsBound(options);
  return { base, message, depth, timeoutMs, options };
}

function checkDepth(field: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw wrong(field, `must be a whole number of at least 1, not ${value}`);
}

function wrong(field: string, problem: string): ValidationError {
  return new ValidationError(`${field} ${problem}`, { field });
}

/** Why a step failed: the HTTP status, if there is one, and the agent's message. */
function describeFailure(problem: unknown): string {
  const message = errorMessage(problem);
  if (!(problem instanceof RemoteError) || problem.httpStatus < 400) return message;
  const title = `HTTP ${problem.httpStatus}`;
  // Without a message of the agent, the text already starts with the status.
  if (message === "" || message.startsWith(title)) return message || title;
  return `${title} — ${message}`;
}
