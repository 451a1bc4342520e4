import { type Interface, createInterface } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import type { LineSource } from "./line-source.ts";
import { MutedOutput } from "./muted-output.ts";

export interface TerminalLinesOptions {
  readonly keyboard: ReadStream;
  readonly screen: WriteStream;
  /** The terminal knows no control sequences; then it edits its lines itself. */
  readonly isDumb: boolean;
  readonly onInterrupt: () => void;
}

/** Lines that a person types, with a history. What is typed ahead waits for its prompt. */
export class TerminalLines implements LineSource {
  readonly isPerson = true;
  readonly #screen: WriteStream;
  readonly #output: MutedOutput;
  readonly #lines: Interface;
  readonly #ahead: string[] = [];
  #waiting: ((line: string | undefined) => void) | undefined;
  #isClosed = false;

  constructor({ keyboard, screen, isDumb, onInterrupt }: TerminalLinesOptions) {
    this.#screen = screen;
    this.#output = new MutedOutput(screen);
    this.#lines = createInterface({
      input: keyboard,
      output: this.#output,
      terminal: !isDumb,
      historySize: 500,
      removeHistoryDuplicates: true,
    });
    this.#lines.on("line", (line) => this.#take(line));
    this.#lines.on("SIGINT", onInterrupt);
    this.#lines.on("close", () => this.#end());
  }

  next(prompt: string): Promise<string | undefined> {
    const line = this.#ahead.shift();
    if (line !== undefined) this.#screen.write(`${prompt}${line}\n`);
    if (line !== undefined || this.#isClosed) return Promise.resolve(line);
    this.#output.isMuted = false;
    this.#lines.setPrompt(prompt);
    // readline would go back over as many rows as it believes to have written; they were not shown.
    (this.#lines as { prevRows?: number }).prevRows = 0;
    this.#lines.prompt(true);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  close(): void {
    this.#output.isMuted = true;
    this.#lines.close();
    this.#output.destroy();
  }

  #take(line: string): void {
    if (this.#waiting === undefined) return void this.#ahead.push(line);
    this.#output.isMuted = true;
    this.#waiting(line);
    this.#waiting = undefined;
  }

  #end(): void {
    this.#isClosed = true;
    this.#waiting?.(undefined);
    this.#waiting = undefined;
  }
}
