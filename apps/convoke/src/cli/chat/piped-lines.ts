import type { StdinText } from "../stdin-text.ts";
import type { LineSource } from "./line-source.ts";

/** Lines that a script has written: they are answered in order, and nobody is prompted. */
export class PipedLines implements LineSource {
  readonly isPerson = false;
  readonly #stdin: StdinText;

  constructor(stdin: StdinText) {
    this.#stdin = stdin;
  }

  next(): Promise<string | undefined> {
    return this.#stdin.line();
  }

  close(): void {
    this.#stdin.close();
  }
}
