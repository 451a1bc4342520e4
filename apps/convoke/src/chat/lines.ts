import { type Interface, createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";
import type { CommandContext } from "../terminal/command.ts";
import type { StdinText } from "../terminal/stdin-text.ts";

/** The source of the lines of a conversation. */
export interface LineSource {
  /** Whether a user types the lines; hints are printed only then. */
  readonly isPerson: boolean;
  /** The next line, or `undefined` at the end. */
  next(prompt: string): Promise<string | undefined>;
  close(): void;
}

/** Lines typed at a terminal, or piped in. */
export function linesFrom({ io, flag }: CommandContext, onInterrupt: () => void): LineSource {
  const { keyboard, screen, stdin, env } = io;
  if (keyboard === undefined || screen === undefined || flag("json")) return new PipedLines(stdin);
  return new TerminalLines({ keyboard, screen, isDumb: env["TERM"] === "dumb", onInterrupt });
}

/** Whether a user types at a terminal, rather than a script at a pipe. */
export function isPerson({ io, flag }: CommandContext): boolean {
  return io.keyboard !== undefined && io.screen !== undefined && !flag("json");
}

/** Lines from a pipe, without prompts. */
class PipedLines implements LineSource {
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

interface TerminalLinesOptions {
  readonly keyboard: ReadStream;
  readonly screen: WriteStream;
  /** The terminal has no control sequences and edits lines itself. */
  readonly isDumb: boolean;
  readonly onInterrupt: () => void;
}

/** Lines typed at a terminal, with a history. Lines typed ahead wait for their prompt. */
class TerminalLines implements LineSource {
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
    // readline would move the cursor up by the rows that it thinks it has written, but they were muted.
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

/**
 * A screen that can be muted: while the agent answers, text typed ahead must not appear in the
 * middle of the output.
 */
class MutedOutput extends Writable {
  isMuted = true;
  readonly #screen: WriteStream;
  readonly #resized = (): void => void this.emit("resize");

  constructor(screen: WriteStream) {
    super({ decodeStrings: false });
    this.#screen = screen;
    screen.on("resize", this.#resized);
  }

  /** readline needs it to wrap long lines. */
  get columns(): number {
    return this.#screen.columns;
  }

  override _write(chunk: string | Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.isMuted) this.#screen.write(chunk);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#screen.off("resize", this.#resized);
    done(error);
  }
}
