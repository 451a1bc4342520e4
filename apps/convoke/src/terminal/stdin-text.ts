import type { Readable } from "node:stream";
import { UsageError } from "./command.ts";

const LINE_FEED = 0x0a;

/** Standard input as text, line by line or as a whole. Nothing is read before the first call. */
export class StdinText {
  readonly #open: () => Readable;
  #stream: Readable | undefined;
  #chunks: AsyncIterator<Uint8Array> | undefined;
  #pending: Buffer = Buffer.alloc(0);

  constructor(open: () => Readable) {
    this.#open = open;
  }

  /** The next line without its line break, or `undefined` at the end. */
  async line(): Promise<string | undefined> {
    for (let from = 0; ;) {
      const end = this.#pending.indexOf(LINE_FEED, from);
      if (end !== -1) {
        const bytes = this.#pending.subarray(0, end);
        this.#pending = this.#pending.subarray(end + 1);
        return decode(bytes).replace(/\r$/, "");
      }
      from = this.#pending.length;
      if (!(await this.#more())) break;
    }
    const last = decode(this.#pending);
    this.#pending = Buffer.alloc(0);
    return last === "" ? undefined : last;
  }

  /** The remaining text, without a trailing line break. */
  async rest(): Promise<string> {
    while (await this.#more());
    const text = decode(this.#pending);
    this.#pending = Buffer.alloc(0);
    return text.replace(/\r?\n$/, "");
  }

  /** Stops reading, so that an open pipe does not keep the process alive. */
  close(): void {
    this.#stream?.destroy();
  }

  async #more(): Promise<boolean> {
    this.#stream ??= this.#open();
    this.#chunks ??= this.#stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    const { done, value } = await this.#chunks.next();
    if (done === true) return false;
    this.#pending = Buffer.concat([this.#pending, value]);
    return true;
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError("Standard input is not UTF-8 text; send other files with --file <path>.");
  }
}
