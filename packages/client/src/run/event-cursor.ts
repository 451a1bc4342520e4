import type { PublicEvent } from "@convoke/protocol";
import { isHeaderValue } from "../auth/headers.ts";

/** How many event ids are remembered. */
const MAX_RECENT = 256;

/** Where an event stands relative to the cursor. */
export type EventPosition =
  | "new"
  /** It was already read. */
  | "seen"
  /** It belongs before the cursor but was never read. */
  | "late";

/**
 * How far a stream was read. Ids that are decimal numbers increase along the log, so an event whose
 * id is not greater was already read.
 */
export class EventCursor {
  #lastId: string | undefined;
  /** The last id as a number, if it is one. */
  #lastNumber: number | undefined;
  #lastEvent: PublicEvent | undefined;
  #recent: number[] = [];

  constructor(lastId?: string) {
    this.#lastId = lastId;
    this.#lastNumber = parseNumber(lastId ?? "");
  }

  /** The id to resume after the last event; `undefined` if the agent sends no ids. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  classify(id: string, event: PublicEvent): EventPosition {
    const last = this.#lastId;
    if (id === "" || last === undefined) return "new";
    // A server may number only some events: SSE then repeats the last id for the others.
    if (id === last) return this.#isLastEvent(event) ? "seen" : "new";
    const number = parseNumber(id);
    if (number === undefined || this.#lastNumber === undefined) return "new";
    if (number > this.#lastNumber) return "new";
    const oldest = this.#recent[0];
    if (oldest === undefined || number < oldest) return "seen";
    return this.#recent.includes(number) ? "seen" : "late";
  }

  /** Whether the id is before the cursor. */
  isBefore(id: string): boolean {
    const number = parseNumber(id);
    return number !== undefined && this.#lastNumber !== undefined && number < this.#lastNumber;
  }

  moveTo(id: string, event: PublicEvent): void {
    if (id === "") return;
    // An id that cannot be sent in a header is no cursor, and an older one would repeat events.
    if (!isHeaderValue(id)) return this.forget();
    this.#lastId = id;
    this.#lastEvent = event;
    this.#lastNumber = parseNumber(id);
    if (this.#lastNumber === undefined) return;
    this.#recent.push(this.#lastNumber);
    if (this.#recent.length > MAX_RECENT) this.#recent = this.#recent.slice(MAX_RECENT / 2);
  }

  /** Resets the cursor: the following events belong to another log. */
  forget(): void {
    this.#lastId = undefined;
    this.#lastNumber = undefined;
    this.#lastEvent = undefined;
    this.#recent = [];
  }

  #isLastEvent(event: PublicEvent): boolean {
    // A reader that starts with a stored cursor has already read the event of that id.
    return (
      this.#lastEvent === undefined || JSON.stringify(this.#lastEvent) === JSON.stringify(event)
    );
  }
}

/**
 * Parses a decimal number that a double holds exactly; stricter than `Number`. Digit by digit, because
 * it runs twice for every event.
 */
function parseNumber(id: string): number | undefined {
  if (id === "" || id.length > 15) return undefined;
  let number = 0;
  for (let index = 0; index < id.length; index++) {
    const digit = id.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number;
}
