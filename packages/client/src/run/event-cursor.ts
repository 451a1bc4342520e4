import type { PublicEvent } from "@convoke/protocol";
import { isHeaderValue } from "../auth/headers.ts";

/** Of how many events the ids are remembered. */
const MAX_RECENT = 256;

/** What an event is to someone who has read up to a place. */
export type EventPosition =
  | "new"
  /** It came before. */
  | "seen"
  /** It should have come before, and did not. */
  | "late";

/**
 * How far a stream was read. Where ids are decimal numbers they grow along the
 * log, so what is not greater came already.
 */
export class EventCursor {
  #lastId: string | undefined;
  /** The last id as a number, where it is one. */
  #lastNumber: number | undefined;
  #lastEvent: PublicEvent | undefined;
  #recent: number[] = [];

  constructor(lastId?: string) {
    this.#lastId = lastId;
    this.#lastNumber = numberOf(lastId ?? "");
  }

  /** The id that resumes after the last event; nothing where the agent sends none. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  classify(id: string, event: PublicEvent): EventPosition {
    const last = this.#lastId;
    if (id === "" || last === undefined) return "new";
    // A server may number some events only: then the next ones seem to have the same id.
    if (id === last) return this.#isLastEvent(event) ? "seen" : "new";
    const number = numberOf(id);
    if (number === undefined || this.#lastNumber === undefined) return "new";
    if (number > this.#lastNumber) return "new";
    const oldest = this.#recent[0];
    if (oldest === undefined || number < oldest) return "seen";
    return this.#recent.includes(number) ? "seen" : "late";
  }

  /** Whether the id stands before the place that was read up to. */
  isBefore(id: string): boolean {
    const number = numberOf(id);
    return number !== undefined && this.#lastNumber !== undefined && number < this.#lastNumber;
  }

  moveTo(id: string, event: PublicEvent): void {
    if (id === "") return;
    // What cannot be sent back leads nowhere, and neither does what was before it.
    if (!isHeaderValue(id)) return this.forget();
    this.#lastId = id;
    this.#lastEvent = event;
    this.#lastNumber = numberOf(id);
    if (this.#lastNumber === undefined) return;
    this.#recent.push(this.#lastNumber);
    if (this.#recent.length > MAX_RECENT) this.#recent = this.#recent.slice(MAX_RECENT / 2);
  }

  /** The log is another one from here on. */
  forget(): void {
    this.#lastId = undefined;
    this.#lastNumber = undefined;
    this.#lastEvent = undefined;
    this.#recent = [];
  }

  #isLastEvent(event: PublicEvent): boolean {
    // Where a reader begins with somebody's cursor, the event of that id was read by then.
    return (
      this.#lastEvent === undefined || JSON.stringify(this.#lastEvent) === JSON.stringify(event)
    );
  }
}

/**
 * A decimal number that a double holds exactly; not what merely looks like one to
 * `Number`. Digit by digit, because every event comes by here twice.
 */
function numberOf(id: string): number | undefined {
  if (id === "" || id.length > 15) return undefined;
  let number = 0;
  for (let place = 0; place < id.length; place++) {
    const digit = id.charCodeAt(place) - 48;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number;
}
