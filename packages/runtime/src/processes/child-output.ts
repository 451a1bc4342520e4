import { StringDecoder } from "node:string_decoder";

const WINDOW_MS = 10_000;

const MAX_LINES = 50;

const MAX_LINE = 1000;

/**
 * Forwards what a child prints outside its protocol to the log, line by line and within size
 * limits.
 */
export class ChildOutput {
  readonly #write: (line: string) => void;
  readonly #now: () => number;
  readonly #decoder = new StringDecoder("utf8");
  #line = "";
  #windowStart = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #dropped = 0;

  constructor(write: (line: string) => void, now: () => number = () => performance.now()) {
    this.#write = write;
    this.#now = now;
  }

  add(chunk: Buffer): void {
    const [first = "", ...rest] = this.#decoder.write(chunk).split("\n");
    this.#grow(first);
    for (const piece of rest) {
      this.#flush();
      this.#grow(piece);
    }
  }

  /** Flushes the last line, which may not end with a newline. */
  end(): void {
    this.#flush();
    this.#tellDropped();
  }

  #grow(piece: string): void {
    if (this.#line.length < MAX_LINE) this.#line += piece.slice(0, MAX_LINE - this.#line.length);
  }

  #flush(): void {
    const line = this.#line.trimEnd();
    this.#line = "";
    if (line === "") return;
    if (this.#now() - this.#windowStart >= WINDOW_MS) {
      this.#tellDropped();
      this.#windowStart = this.#now();
      this.#lines = 0;
    }
    this.#lines += 1;
    if (this.#lines <= MAX_LINES) this.#write(line);
    else this.#dropped += 1;
  }

  #tellDropped(): void {
    if (this.#dropped > 0) this.#write(`[${this.#dropped} more lines]`);
    this.#dropped = 0;
  }
}
