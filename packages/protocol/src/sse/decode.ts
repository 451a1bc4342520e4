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
  #data: string[] = [];
  #event = "";
  #id = "";

  /** The events that the next piece completes. */
  push(piece: string): SseEvent[] {
    const events: SseEvent[] = [];
    if (piece === "") return events;
    const fresh = this.#afterCarriageReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#afterCarriageReturn = piece.endsWith("\r");
    const lineEnd = /\r\n|\n|\r/g;
    let start = 0;
    // What was kept holds no line end, so only what is fresh is searched: a long
    // line in small pieces stays linear.
    for (let end = lineEnd.exec(fresh); end !== null; end = lineEnd.exec(fresh)) {
      this.#line(this.#rest + fresh.slice(start, end.index), events);
      this.#rest = "";
      start = lineEnd.lastIndex;
    }
    this.#rest += fresh.slice(start);
    return events;
  }

  #line(line: string, events: SseEvent[]): void {
    if (line === "") return this.#dispatch(events);
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }

  #dispatch(events: SseEvent[]): void {
    if (this.#data.length > 0) {
      events.push({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
    }
    this.#data = [];
    this.#event = "";
  }
}
