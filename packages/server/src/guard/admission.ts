import { A2AError, type Caller } from "@convoke/protocol";
import type { HttpHeaders, HttpRequest } from "../http/exchange.ts";
import type { Guard } from "./guard.ts";
import type { RateClass, RateLimiter } from "./rate-limit.ts";

/** One request at the guard: who calls, and how much of the caller's rate limit is left. */
export class Admission {
  readonly #guard: Guard;
  readonly #rates: RateLimiter;
  readonly #request: HttpRequest;
  #caller: Caller | undefined;
  #isCounted = false;
  #headers: HttpHeaders | undefined;

  constructor(
    { guard, rates }: { readonly guard: Guard; readonly rates: RateLimiter },
    request: HttpRequest,
  ) {
    this.#guard = guard;
    this.#rates = rates;
    this.#request = request;
  }

  /** Checks the request, and returns its caller. */
  readonly identify = async (): Promise<Caller> => {
    await this.#rates.checkLogin(this.#request);
    try {
      return (this.#caller = await this.#guard.identify(this.#request));
    } catch (error) {
      if (A2AError.is(error) && error.reason === "Unauthenticated") await this.#loginFailed();
      throw error;
    }
  };

  /** A request without credentials is no guess: clients send one to learn which credentials are needed. */
  async #loginFailed(): Promise<void> {
    if (this.#guard.hasCredentials(this.#request)) await this.#rates.failedLogin(this.#request);
  }

  /** Counts the request, unless it is counted already. Rejects it with 429 if its caller has sent too many. */
  async count(kind: RateClass): Promise<void> {
    if (this.#isCounted || this.#caller === undefined) return;
    this.#isCounted = true;
    const { headers, rejection } = await this.#rates.count(this.#request, this.#caller, kind);
    this.#headers = headers;
    if (rejection !== undefined) throw rejection;
  }

  /** The headers of the response that describe the rate limit. Absent if the request is not limited. */
  get headers(): HttpHeaders | undefined {
    return this.#headers;
  }
}
