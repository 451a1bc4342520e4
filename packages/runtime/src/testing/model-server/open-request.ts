import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { type ServedRequest, askedText } from "./served-request.ts";
import type { WireFormat } from "./wire.ts";

interface OpenRequestOptions {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Readonly<Record<string, unknown>>;
  readonly format: WireFormat;
  readonly number: number;
}

/** A request that is being answered, and the state of its connection. */
export class OpenRequest implements ServedRequest {
  readonly number: number;
  readonly format: WireFormat;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly closed: Promise<void>;
  /** Fires when the connection is closed. */
  readonly gone: AbortSignal;
  readonly #response: ServerResponse;
  #isOpen = true;
  #closedEarly = false;
  #isCut = false;

  constructor({ incoming, response, body, format, number }: OpenRequestOptions) {
    this.number = number;
    this.format = format;
    this.path = incoming.url ?? "";
    this.headers = incoming.headers;
    this.body = body;
    this.text = askedText(body);
    this.#response = response;
    const gone = new AbortController();
    this.gone = gone.signal;
    this.closed = new Promise((resolve) => {
      response.once("close", () => {
        this.#isOpen = false;
        this.#closedEarly = !response.writableFinished && !this.#isCut;
        gone.abort();
        resolve();
      });
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get closedEarly(): boolean {
    return this.#closedEarly;
  }

  get response(): ServerResponse {
    return this.#response;
  }

  /** Breaks the connection from the server's side. */
  cut(): void {
    this.#isCut = true;
    this.#response.destroy();
  }
}
