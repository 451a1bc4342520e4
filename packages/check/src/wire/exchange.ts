import { oneLine } from "@convoke/protocol/internal";

/** Limits on what a probe reads, so that no server can keep it reading forever. */
export const MAX_BYTES = 1024 * 1024;
/** A stream may be long; its time limit is that of the probe. */
const MAX_STREAM_BYTES = 32 * MAX_BYTES;
/** How many events a probe reads after the task has ended, where there should be none. */
export const MAX_LATE_EVENTS = 20;

/** One request and its response as readable text, for reports. */
export interface Exchange {
  readonly sent: string;
  readonly received: string;
}

/** The same request with only the relevant piece of the response, which might be cut off otherwise. */
export function withReceived({ sent }: Exchange, received: string): Exchange {
  return { sent, received };
}

/** The server did not do what the specification requires. */
export class Failed extends Error {
  override readonly name = "Failed";
  /** What the server should have sent, in words. */
  readonly expected: string;
  /** The exchange to report if it is not the last one of the transcript. */
  readonly exchange: Exchange | undefined;

  constructor(expected: string, exchange?: Exchange) {
    super(expected);
    this.expected = expected;
    this.exchange = exchange;
  }
}

/** A probe could not run here. The message names the option that would help, if there is one. */
export class Skipped extends Error {
  override readonly name = "Skipped";
}

/** A stream of any size is allowed, so one that is too large to read is no failure of the server. */
export function checkStreamSize(length: number): void {
  if (length <= MAX_STREAM_BYTES) return;
  throw new Skipped(
    `the stream has more than ${MAX_STREAM_BYTES} bytes; choose a text with a shorter one (option: message)`,
  );
}

/** Remembers the last exchange, so that even an unexpected failure can show it. */
export class Transcript {
  #last: Exchange = { sent: "nothing", received: "nothing" };

  get last(): Exchange {
    return this.#last;
  }

  /** Starts a new exchange. */
  recordSent(sent: string): void {
    this.#last = { sent: readable(sent), received: "nothing" };
  }

  /** Completes the current exchange, or replaces what was received so far. */
  recordReceived(received: string): Exchange {
    this.#last = { ...this.#last, received: readable(received) };
    return this.#last;
  }
}

/** The headers that probes vary. Credentials are not among them and never shown. */
const SHOWN_HEADERS = ["a2a-version", "a2a-extensions", "x-a2a-extensions", "if-none-match"];

/** A request on one line: the request line, the headers that matter, and the body. */
export function readableRequest(
  line: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): string {
  const shown = Object.entries(headers)
    .filter(([name]) => SHOWN_HEADERS.includes(name))
    .map(([name, value]) => `${name}: ${value}`);
  return readable(`${line}${shown.length === 0 ? "" : ` (${shown.join(", ")})`} ${body}`);
}

/** Longer bodies are cut in reports. */
const MAX_SHOWN = 600;

function readable(text: string): string {
  return oneLine(text, MAX_SHOWN);
}
