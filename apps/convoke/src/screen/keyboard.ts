import { type Key, KeyDecoder } from "./keys.ts";

/** The part of a terminal's input stream that is used. */
export interface KeyboardInput {
  setRawMode(isRaw: boolean): unknown;
  setEncoding(encoding: "utf8"): unknown;
  on(event: "data", listener: (text: string) => void): unknown;
  off(event: "data", listener: (text: string) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  off(event: "end", listener: () => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

export interface KeyboardOptions {
  readonly input: KeyboardInput;
  /** The terminal for output, which turns bracketed paste on and off. */
  readonly output: { write(text: string): unknown };
  readonly onKey: (key: Key) => void;
  /** The terminal was closed. */
  readonly onEnd: () => void;
}

/** How long the rest of a sequence may take. After it, ESC was the Escape key. */
const ESCAPE_MS = 50;

const PASTE_ON = "\u001B[?2004h";
const PASTE_OFF = "\u001B[?2004l";

/** The keyboard of a terminal in raw mode, with bracketed paste. */
export class Keyboard {
  readonly #options: KeyboardOptions;
  readonly #decoder = new KeyDecoder();
  #timer: NodeJS.Timeout | undefined;
  #isOpen = false;

  constructor(options: KeyboardOptions) {
    this.#options = options;
    options.input.setEncoding("utf8");
  }

  open(): void {
    const { input, output, onEnd } = this.#options;
    this.#isOpen = true;
    input.setRawMode(true);
    output.write(PASTE_ON);
    input.on("data", this.#read);
    input.on("end", onEnd);
    input.resume();
    process.once("exit", this.#restore);
  }

  /** Gives the terminal back as it was. It can be opened again. */
  close(): void {
    const { input, onEnd } = this.#options;
    if (!this.#isOpen) return;
    clearTimeout(this.#timer);
    input.off("data", this.#read);
    input.off("end", onEnd);
    input.pause();
    process.off("exit", this.#restore);
    this.#restore();
  }

  /** Also runs if the process ends unexpectedly: a shell should not be left in raw mode. */
  readonly #restore = (): void => {
    const { input, output } = this.#options;
    this.#isOpen = false;
    output.write(PASTE_OFF);
    input.setRawMode(false);
  };

  readonly #read = (text: string): void => {
    clearTimeout(this.#timer);
    this.#pass(this.#decoder.feed(text));
    if (!this.#decoder.isPending) return;
    this.#timer = setTimeout(() => this.#pass(this.#decoder.flush()), ESCAPE_MS);
  };

  #pass(keys: readonly Key[]): void {
    for (const key of keys) this.#options.onKey(key);
  }
}
