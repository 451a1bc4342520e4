import { A2AError, type Caller, type Metrics, type OperationName } from "@convoke/protocol";
import type { Audit } from "@convoke/engine";
import { endSpanWith, nameSpan } from "../http/request-span.ts";
import type { HttpHeaders, HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { Guard } from "./guard.ts";
import { type RateClass, type RateLimiter, rateClass } from "./rate-limit.ts";

/** What the admission of requests needs of a server. */
interface AdmissionParts {
  /** The agent that the request addresses. */
  readonly agent: { readonly id: string };
  readonly guard: Guard;
  readonly rates: RateLimiter;
  readonly metrics: Metrics;
  readonly audit: Audit;
  /** A caller has reached a limit. */
  readonly onLimit: (limit: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly toA2AError: (thrown: unknown, requestId: string) => A2AError;
}

/** The API that a request uses, as metrics show it. */
type ApiName = "jsonrpc" | "rest" | "grpc" | "card" | "coder" | "inbound" | "convoke";

const OTHER = "other";

/**
 * One request at the guard: who calls, how much of the caller's rate limit is left, and how the
 * request ended, for metrics and the audit log.
 */
export class Admission {
  readonly #parts: AdmissionParts;
  readonly #request: HttpRequest;
  readonly #startedAt = performance.now();
  #binding: ApiName | typeof OTHER = OTHER;
  #operation: string = OTHER;
  #caller: Caller | undefined;
  #isCounted = false;
  #rateHeaders: HttpHeaders | undefined;
  #error: A2AError | undefined;

  constructor(parts: AdmissionParts, request: HttpRequest) {
    this.#parts = parts;
    this.#request = request;
  }

  /** Checks the request, and returns its caller. */
  async identify(): Promise<Caller> {
    const { guard, rates } = this.#parts;
    const checking = rates.hasLogins ? rates.checkLogin(this.#request) : undefined;
    if (checking !== undefined) await checking;
    const { failedLogins } = rates;
    let caller: Caller;
    try {
      caller = await guard.identify(this.#request);
    } catch (error) {
      if (A2AError.is(error) && error.reason === "Unauthenticated") await this.#loginFailed();
      throw error;
    }
    // Guesses that are sent together pass the first check together.
    if (rates.failedLogins !== failedLogins) await rates.checkLogin(this.#request);
    return (this.#caller = caller);
  }

  /** A request without credentials is no guess: clients send one to learn which credentials are needed. */
  async #loginFailed(): Promise<void> {
    const { guard, rates, audit } = this.#parts;
    if (!guard.hasCredentials(this.#request)) return;
    audit.record("login.failed", this.#facts());
    await rates.failedLogin(this.#request);
  }

  /** What the request wants, for metrics. The name must be one of a few. */
  name(binding: ApiName, operation: string): void {
    this.#binding = binding;
    this.#operation = operation;
  }

  /**
   * Names an operation and counts the request; one for an unknown operation, which is not performed,
   * counts as a read. Rejects with 429 if the caller has sent too many.
   */
  start(binding: ApiName, operation: OperationName | undefined): Promise<void> {
    this.name(binding, operation ?? OTHER);
    return this.count(rateClass(operation));
  }

  /** Counts the request, unless it is counted already. */
  async count(kind: RateClass): Promise<void> {
    if (this.#isCounted || this.#caller === undefined) return;
    this.#isCounted = true;
    const counting = this.#parts.rates.count(this.#request, this.#caller, kind);
    const counted = counting instanceof Promise ? await counting : counting;
    this.#rateHeaders = counted.headers;
    if (counted.rejection !== undefined) throw counted.rejection;
  }

  /** Converts what was thrown to the error of the response, and keeps it for metrics and the audit log. */
  toError(thrown: unknown): A2AError {
    const { audit, onLimit, toA2AError } = this.#parts;
    const error = (this.#error = toA2AError(thrown, this.#request.id));
    const { limit } = error.details;
    if (error.reason === "Forbidden") {
      audit.record("access.denied", { ...this.#facts(), problem: error.detail });
    } else if (error.reason === "TooManyRequests" && limit !== undefined) {
      onLimit(limit, this.#facts());
    }
    return error;
  }

  /** Adds the challenge of a rejected request and the headers of the rate limit, and measures the request. */
  finish(response: HttpResponse): HttpResponse {
    const { metrics, guard } = this.#parts;
    const labels = [this.#binding, this.#operation];
    const status = response.status < 400 ? "ok" : String(response.status);
    metrics.count("requests", [...labels, this.#error?.reason ?? status]);
    metrics.observe("requestSeconds", (performance.now() - this.#startedAt) / 1000, labels);
    const challenge =
      response.status === 401 || response.status === 403
        ? this.#error && guard.challengeFor(this.#request, this.#error)
        : undefined;
    const answered = withHeaders(response, this.#rateHeaders, challenge);
    const { span } = this.#request;
    if (span === undefined) return answered;
    nameSpan(span, this.#request, { binding: this.#binding, operation: this.#operation });
    return endSpanWith(span, answered, this.#error);
  }

  #facts(): Readonly<Record<string, unknown>> {
    const { id: requestId, method, agentPath = "" } = this.#request;
    const path = agentPath + this.#request.path;
    const agentId = this.#parts.agent.id;
    const address = this.#parts.rates.addressOf(this.#request);
    const { owner, tenant } = this.#caller ?? {};
    return { requestId, method, path, agentId, address, owner, tenant };
  }
}

function withHeaders(
  response: HttpResponse,
  rate: HttpHeaders | undefined,
  challenge: string | undefined,
): HttpResponse {
  if (rate === undefined && challenge === undefined) return response;
  const added = { ...(challenge !== undefined && { "www-authenticate": challenge }), ...rate };
  return { ...response, headers: { ...response.headers, ...added } };
}
