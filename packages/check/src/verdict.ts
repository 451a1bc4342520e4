/** What was said to the server and what it said, for people to read. */
export interface Exchange {
  readonly sent: string;
  readonly received: string;
}

/** The same exchange where only a piece of the answer matters, which might be cut off otherwise. */
export function about({ sent }: Exchange, received: string): Exchange {
  return { sent, received };
}

/** The server did not do what the specification asks. */
export class Failed extends Error {
  override readonly name = "Failed";
  /** What should have come, in words. */
  readonly expected: string;
  /** Where it is not the last thing that was said. */
  readonly exchange: Exchange | undefined;

  constructor(expected: string, exchange?: Exchange) {
    super(expected);
    this.expected = expected;
    this.exchange = exchange;
  }
}

/** This could not be tested here; the reason names the option that would help, where there is one. */
export class Skipped extends Error {
  override readonly name = "Skipped";
}
