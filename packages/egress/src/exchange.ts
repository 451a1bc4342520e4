import type { IncomingMessage } from "node:http";
import type { HttpAnswer } from "./http/http-client.ts";
import { codeOf, describeProblem } from "./describe-problem.ts";
import { EgressError } from "./egress-error.ts";
import { type Sending, type Sent, type WayOut, send } from "./send.ts";

export interface Exchange extends Sending {
  /** Whether it does no harm when the request arrives twice. */
  readonly isRepeatable: boolean;
}

/**
 * Sends a request and gives the head of its answer. A kept connection may be
 * closed by the other side just when a request is written to it. Then the
 * request is sent once more, over a new connection, if it cannot have been
 * processed or may be processed twice. Otherwise the caller has to decide:
 * nobody here can tell whether it arrived.
 */
export async function exchange(way: WayOut, request: Exchange): Promise<HttpAnswer> {
  let sent = await send(way, request);
  if (sent.kind === "failed" && isWorthAnother(sent, request)) {
    way.connections.forget(request.url);
    sent = await send(way, request);
  }
  if (sent.kind === "failed") throw failureOf(request.url, sent);
  return answerOf(request, sent.response);
}

type Failed = Extract<Sent, { kind: "failed" }>;

function isWorthAnother({ error, sent, wasKept }: Failed, { isRepeatable }: Exchange): boolean {
  if (!wasKept || error instanceof EgressError) return false;
  return !sent || (isRepeatable && CLOSED.has(codeOf(error) ?? ""));
}

const CLOSED = new Set(["ECONNRESET", "EPIPE"]);

function failureOf(url: URL, { error, sent }: Failed): Error {
  // It comes from looking the name up, or from connecting, and says all there is to say.
  if (error instanceof EgressError) return error;
  const what = sent ? "no answer from" : "could not reach";
  const message = `${what} ${url.origin}: ${describeProblem(error)}`;
  return new EgressError("network", message, { cause: error, sent });
}

function answerOf({ url, signal }: Exchange, response: IncomingMessage): HttpAnswer {
  return {
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? "",
    headers: headersOf(response),
    url: url.href,
    body: new AnswerBody(response, { origin: url.origin, signal }),
  };
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  // Of all headers only this one is a list.
  const { "set-cookie": cookies, ...others } = headers;
  if (cookies === undefined) return others as Record<string, string>;
  return { ...(others as Record<string, string>), "set-cookie": cookies.join(", ") };
}

interface AnswerBodyOptions {
  readonly origin: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * The pieces of an answer as they arrive. When all were read, the connection is
 * kept for later; whoever leaves before all has arrived closes it.
 */
class AnswerBody implements AsyncIterableIterator<Uint8Array, void> {
  readonly #response: IncomingMessage;
  readonly #options: AnswerBodyOptions;
  #isOver = false;
  #error: unknown;
  #wake: () => void = () => undefined;

  constructor(response: IncomingMessage, options: AnswerBodyOptions) {
    this.#response = response;
    this.#options = options;
    response.on("readable", () => this.#wake());
    response.on("end", () => this.#finish());
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
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, void>> {
    // What has arrived anyway, as the short text of a redirect has, is read to the end.
    if (this.#response.complete) await this.#readOut();
    else this.#response.destroy();
    this.#finish();
    return { done: true, value: undefined };
  }

  /** When the response is closed, its connection is free for the next request. */
  async #readOut(): Promise<void> {
    while (this.#response.read() !== null);
    if (this.#response.closed) return;
    await new Promise((resolve) => this.#response.once("close", resolve));
  }

  #finish(): void {
    this.#isOver = true;
    this.#wake();
  }

  #lost(error: unknown): EgressError {
    const message = `the connection to ${this.#options.origin} was lost: ${describeProblem(error)}`;
    return new EgressError("network", message, { cause: error, sent: true });
  }
}
