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
      if (this.#rest === "") this.#line(fresh, start, end, events);
      else {
        const line = this.#rest + fresh.slice(start, end);
        this.#rest = "";
        this.#line(line, 0, line.length, events);
      }
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

  /** Reads the line from `start` to `end`. Only values are copied, because this runs for every event. */
  #line(text: string, start: number, end: number, events: SseEvent[]): void {
    if (start === end) return this.#dispatch(events);
    const name = fieldName(text, start, end);
    if (name === undefined) return;
    const colon = start + name.length;
    const value = text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1, end);
    if (name === "data") {
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (name === "event") this.#event = value;
    else if (!value.includes("\0")) this.#id = value;
  }

  #dispatch(events: SseEvent[]): void {
    if (this.#data !== undefined) {
      events.push({ event: this.#event || "message", data: this.#data, id: this.#id });
    }
    this.#data = undefined;
    this.#event = "";
  }
}

/** The field of a line, if it is one that is read. Comments and other fields are skipped. */
function fieldName(text: string, start: number, end: number): "data" | "id" | "event" | undefined {
  if (isName("data", text, start, end)) return "data";
  if (isName("id", text, start, end)) return "id";
  return isName("event", text, start, end) ? "event" : undefined;
}

/** Whether the line from `start` to `end` has this field: with a colon, or without one and a value. */
function isName(name: string, text: string, start: number, end: number): boolean {
  const colon = start + name.length;
  return text.startsWith(name, start) && (colon === end || text[colon] === ":");
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
