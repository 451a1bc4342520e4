/** Announces that the stream ends although its task does not, and when to reconnect. */
export const SSE_RECONNECT = "retry: 1000\n: the server is stopping, reconnect\n\n";

/** A comment that shows proxies and clients that the stream is alive. */
export const SSE_KEEP_ALIVE = ": keep-alive\n\n";

/** One event of a stream of server-sent events. */
export interface SseEvent {
  /** "message" unless the server named it. */
  readonly event: string;
  readonly data: string;
  /** The last id seen so far, "" when there was none. */
  readonly id: string;
}

/**
 * Decodes server-sent events from text that arrives in pieces. A piece may end inside a line, or
 * between the CR and the LF of one. Comments are skipped.
 */
export class SseDecoder {
  #rest = "";
  #afterCarriageReturn = false;
  #data: string | undefined;
  #event = "";
  #id = "";

  /** Returns the events that this piece completes. */
  push(piece: string): SseEvent[] {
    const events: SseEvent[] = [];
    if (piece === "") return events;
    const fresh = this.#afterCarriageReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#afterCarriageReturn = piece.endsWith("\r");
    // The kept text contains no line end, so only the fresh text is searched: a long line that
    // arrives in small pieces stays linear.
    const read = this.#lines(fresh, events);
    this.#rest += fresh.slice(read);
    return events;
  }

  /** Reads the complete lines of the text and returns the index after the last one. */
  #lines(fresh: string, events: SseEvent[]): number {
    let start = 0;
    const take = (end: number, next: number): void => {
      this.#line(this.#rest + fresh.slice(start, end), events);
      this.#rest = "";
      start = next;
    };
    if (fresh.includes("\r")) {
      for (const end of fresh.matchAll(/\r\n|\n|\r/g)) take(end.index, end.index + end[0].length);
    } else {
      // Nearly every server ends its lines with LF, and `indexOf` is faster than a pattern.
      for (let end = fresh.indexOf("\n"); end !== -1; end = fresh.indexOf("\n", start)) {
        take(end, end + 1);
      }
    }
    return start;
  }

  #line(line: string, events: SseEvent[]): void {
    if (line === "") return this.#dispatch(events);
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const end = colon === -1 ? line.length : colon;
    const value = line.slice(line[end + 1] === " " ? end + 2 : end + 1);
    if (isName("data", line, end)) {
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (isName("event", line, end)) this.#event = value;
    else if (isName("id", line, end) && !value.includes("\0")) this.#id = value;
  }

  #dispatch(events: SseEvent[]): void {
    if (this.#data !== undefined) {
      events.push({ event: this.#event || "message", data: this.#data, id: this.#id });
    }
    this.#data = undefined;
    this.#event = "";
  }
}

/** Whether the field name of the line, which ends at `end`, is `name`. */
function isName(name: string, line: string, end: number): boolean {
  return end === name.length && line.startsWith(name);
}

/**
 * Encodes one event of a task's log. `data` is JSON on one line, so it never needs splitting; `id`
 * is what the client sends back as `Last-Event-ID`.
 */
export function sseFrame(
  id: number | string,
  prefix: string,
  data: string,
  suffix: string,
): string {
  return `id: ${id}\ndata: ${prefix}${data}${suffix}\n\n`;
}

/** Encodes an event that belongs to no log, such as the error of a rejected stream. */
export function sseDataFrame(data: string): string {
  return `data: ${data}\n\n`;
}

/** Encodes an event that is not part of the log, such as an error. */
export function sseNamedFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
