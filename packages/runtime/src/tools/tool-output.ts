/** What part of a long output is kept of its end: errors stand there. */
const TAIL_SHARE = 0.25;

/**
 * The output of one call, within bounds however much there is: its beginning
 * and its end are kept, and the middle is counted.
 */
export class ToolOutput {
  readonly #headSpace: number;
  readonly #tailSpace: number;
  readonly #head: string[] = [];
  #headLength = 0;
  #tail: string[] = [];
  #tailLength = 0;
  #length = 0;

  /** `limit` is in characters. */
  constructor(limit: number) {
    this.#tailSpace = Math.floor(limit * TAIL_SHARE);
    this.#headSpace = limit - this.#tailSpace;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Takes more. Returns what of it belongs to the beginning, which is all that is shown as it comes. */
  add(text: string): string {
    this.#length += text.length;
    const room = this.#headSpace - this.#headLength;
    const first = room > 0 ? text.slice(0, room) : "";
    if (first !== "") {
      this.#head.push(first);
      this.#headLength += first.length;
    }
    if (first.length < text.length) this.#addToTail(text.slice(first.length));
    return first;
  }

  /** What the model reads. */
  text(): string {
    const head = this.#head.join("");
    const tail = this.#tail.join("").slice(-this.#tailSpace);
    const missing = this.#length - head.length - tail.length;
    return missing <= 0 ? head + tail : `${head}\n[truncated: ${missing} characters]\n${tail}`;
  }

  #addToTail(text: string): void {
    // A slice of a long string would keep the whole of it in memory.
    const piece =
      text.length > this.#tailSpace ? Buffer.from(text.slice(-this.#tailSpace)).toString() : text;
    this.#tail.push(piece);
    this.#tailLength += piece.length;
    while (this.#tailLength - this.#tail[0]!.length >= this.#tailSpace) {
      this.#tailLength -= this.#tail.shift()!.length;
    }
  }
}

/** A value as the model reads it: JSON within the limit, or the beginning and the end of its text. */
export function boundedOutput(value: unknown, limit: number): unknown {
  if (value === undefined) return null;
  const json = JSON.stringify(value);
  // Functions and symbols have no JSON.
  if (json === undefined) throw new TypeError("it has no JSON");
  if (json.length <= limit) return JSON.parse(json) as unknown;
  const output = new ToolOutput(limit);
  output.add(typeof value === "string" ? value : json);
  return output.text();
}
