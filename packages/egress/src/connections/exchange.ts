import type { IncomingMessage } from "node:http";
import type { HttpAnswer } from "../http/http-client.ts";
import { EgressError, describeProblem, errorCode } from "../policy/egress-error.ts";
import { type OutboundConnections, type OutgoingRequest, type SendOutcome, send } from "./send.ts";

export interface Exchange extends OutgoingRequest {
  /** Whether it does no harm if the request arrives twice. */
  readonly isRepeatable: boolean;
}

/**
 * Sends a request and returns the head of the response. A server may close a kept connection just
 * when a request is written to it. Then the request is sent once more, over a new connection, if it
 * cannot have been processed or may be processed twice. Otherwise the caller has to decide, because
 * it is unknown whether the request arrived.
 */
export async function exchange(way: OutboundConnections, request: Exchange): Promise<HttpAnswer> {
  let sent = await send(way, request);
  if (sent.kind === "failed" && isWorthResending(sent, request)) {
    way.connections.forget(request.url);
    sent = await send(way, request);
  }
  if (sent.kind === "failed") throw toError(request.url, sent);
  return toAnswer(request, sent.response);
}

type Failed = Extract<SendOutcome, { kind: "failed" }>;

function isWorthResending({ error, sent, wasKept }: Failed, { isRepeatable }: Exchange): boolean {
  if (!wasKept || error instanceof EgressError) return false;
  return !sent || (isRepeatable && CLOSED.has(errorCode(error) ?? ""));
}

const CLOSED = new Set(["ECONNRESET", "EPIPE"]);

function toError(url: URL, { error, sent }: Failed): Error {
  // Resolving or connecting failed; the error is already complete.
  if (error instanceof EgressError) return error;
  const what = sent ? "no response from" : "could not reach";
  const message = `${what} ${url.origin}: ${describeProblem(error)}`;
  return new EgressError("network", message, { cause: error, sent });
}

function toAnswer({ url, signal }: Exchange, response: IncomingMessage): HttpAnswer {
  return {
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? "",
    headers: joinHeaders(response),
    url: url.href,
    body: new AnswerBody(response, { url, signal }),
  };
}

function joinHeaders({ headers }: IncomingMessage): Record<string, string> {
  // Node returns only this header as a list.
  const { "set-cookie": cookies } = headers;
  if (cookies === undefined) return headers as Record<string, string>;
  return { ...(headers as Record<string, string>), "set-cookie": cookies.join(", ") };
}

const noWaiter = (): void => undefined;

interface AnswerBodyOptions {
  readonly url: URL;
  readonly signal: AbortSignal | undefined;
}

/**
 * The chunks of a response body as they arrive. After the last chunk the connection is kept for
 * later; leaving the loop earlier closes it.
 */
class AnswerBody implements AsyncIterableIterator<Uint8Array, void> {
  readonly #response: IncomingMessage;
  readonly #options: AnswerBodyOptions;
  #isOver = false;
  #isWatching = false;
  #error: unknown;
  #wake = noWaiter;

  constructor(response: IncomingMessage, options: AnswerBodyOptions) {
    this.#response = response;
    this.#options = options;
    // Node closes a response after its last chunk, in the same turn.
    response.on("close", () => this.#finish());
    response.on("error", (error) => {
      this.#error = error;
      this.#wake();
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, void>> {
    for (;;) {
      this.#options.signal?.throwIfAborted();
      const piece = this.#response.read() as Uint8Array | null;
      if (piece !== null) return { done: false, value: piece };
      if (this.#error !== undefined) throw this.#lost(this.#error);
      if (this.#isOver) return { done: true, value: undefined };
      this.#watchArrivals();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, void>> {
    // A body that has arrived completely, such as the short text of a redirect, is read to its end.
    if (this.#response.complete) await this.#drain();
    else this.#response.destroy();
    this.#finish();
    return { done: true, value: undefined };
  }

  /** Once the response has closed, its connection is free for the next request. */
  async #drain(): Promise<void> {
    while (this.#response.read() !== null);
    if (this.#response.closed) return;
    await new Promise((resolve) => this.#response.once("close", resolve));
  }

  /** Most responses arrive at once, and then there is nothing to watch for. */
  #watchArrivals(): void {
    if (this.#isWatching || this.#response.complete) return;
    this.#isWatching = true;
    this.#response.on("readable", () => this.#wake());
  }

  #finish(): void {
    this.#isOver = true;
    this.#wake();
  }

  #lost(error: unknown): EgressError {
    const message = `the connection to ${this.#options.url.origin} was lost: ${describeProblem(error)}`;
    return new EgressError("network", message, { cause: error, sent: true });
  }
}
