/** One event of a stream. */
export interface SseEvent {
  /** "message" unless the server named it. */
  readonly event: string;
  readonly data: string;
  /** The last id seen so far, "" when there was none. */
  readonly id: string;
}

/**
 * Reads server-sent events from text in any pieces: a cut may fall inside a
 * line, or between the CR and the LF of one. Comments are skipped.
 */
export class SseDecoder {
  #rest = "";
  #afterCarriageReturn = false;
  #data: string | undefined;
  #event = "";
  #id = "";

  /** The events that the next piece completes. */
  push(piece: string): SseEvent[] {
    const events: SseEvent[] = [];
    if (piece === "") return events;
    const fresh = this.#afterCarriageReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#afterCarriageReturn = piece.endsWith("\r");
    // What was kept holds no line end, so only what is fresh is searched: a long
    // line in small pieces stays linear.
    const read = this.#lines(fresh, events);
    this.#rest += fresh.slice(read);
    return events;
  }

  /** Reads the lines that end in the text, and gives the place after the last of them. */
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
      // Nearly every server ends its lines this way, and a search without a pattern is faster.
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

/** Whether the line begins with the name, and the name ends there. */
function isName(name: string, line: string, end: number): boolean {
  return end === name.length && line.startsWith(name);
}
