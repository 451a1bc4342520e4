import {
  type ChildRecords,
  MARK,
  killAtExit,
  killGroup,
  killMarked,
} from "@convoke/runtime/processes";
import { startTimer } from "@convoke/protocol/internal";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

export interface ShellStart {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Where running commands are recorded, so that they can be ended after a crash. */
  readonly records?: ChildRecords | undefined;
  /** Receives what the command prints, as it comes. */
  readonly print: (text: string) => void;
}

/** How a command ended. */
export interface ShellEnd {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly signal?: string;
  /** Why it could not be started. */
  readonly problem?: string;
}

/** How long a command may take to end after SIGTERM. */
const GRACE_MS = 2000;

/** How long to read the output after the command has ended. */
const LAST_OUTPUT_MS = 500;

/**
 * Waits until the command is recorded, and then becomes the command. If the server is killed
 * before that, the pipe is closed and nothing runs. A program that starts with "-" would be taken
 * for an option of `exec`.
 */
const GATE = 'read -r _ <&3 || exit 1; exec 3<&-; case $1 in -*) exit 127;; esac; exec "$@"';

/**
 * A running command in its own process group. When it ends, whatever it started ends too.
 */
export class ShellProcess {
  readonly #child: ChildProcess;
  readonly #input: Writable;
  readonly #outputs: readonly Readable[];
  readonly #ended = Promise.withResolvers<ShellEnd>();
  #end: ShellEnd | undefined;

  constructor({ argv, cwd, env, records, print }: ShellStart) {
    const mark = randomUUID();
    this.#child = spawn("/bin/sh", ["-c", GATE, "sh", ...argv], {
      cwd,
      env: { ...env, [MARK]: mark },
      stdio: ["pipe", "pipe", "pipe", "pipe"],
      detached: true,
    });
    const { stdin, stdout, stderr, stdio } = this.#child;
    const gate = stdio[3] as Writable;
    this.#input = stdin!;
    this.#outputs = [stdout!, stderr!];
    const { pid } = this.#child;
    const forget = pid === undefined ? [] : [killAtExit(pid), records?.add(pid, mark)];
    this.#child.once("error", (error: NodeJS.ErrnoException) => {
      this.#finish({ exitCode: null, problem: startProblem(error) });
    });
    this.#child.once("exit", (exitCode, signal) => {
      if (pid !== undefined) killGroup(pid, "SIGKILL");
      killMarked(mark);
      for (const one of forget) one?.();
      const end = { exitCode, ...(signal !== null && { signal }) };
      this.#child.once("close", () => this.#finish(end));
      startTimer(LAST_OUTPUT_MS, () => this.#finish(end), { unref: true });
    });
    // A command may close its input early.
    for (const stream of [this.#input, gate]) stream.on("error", () => undefined);
    gate.end("go\n");
    for (const stream of this.#outputs) {
      // A character may be split between two chunks.
      const decoder = new StringDecoder("utf8");
      stream.on("data", (chunk: Buffer) => this.#print(decoder.write(chunk), print));
      stream.once("end", () => this.#print(decoder.end(), print));
    }
  }

  /** Resolves when the command and its output have ended. */
  get ended(): Promise<ShellEnd> {
    return this.#ended.promise;
  }

  /** How it ended, if it has. */
  get end(): ShellEnd | undefined {
    return this.#end;
  }

  /** Writes to its input; false if it no longer reads. */
  write(text: string): boolean {
    if (this.#end !== undefined || !this.#input.writable) return false;
    this.#input.write(text);
    return true;
  }

  closeInput(): void {
    this.#input.end();
  }

  /** Stops and continues reading its output; a command whose output is not read waits. */
  setPaused(isPaused: boolean): void {
    for (const stream of this.#outputs) {
      if (isPaused) stream.pause();
      else stream.resume();
    }
  }

  /** Asks the command to end, and kills it if it does not. Resolves when it has ended. */
  async stop(): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined || this.#end !== undefined) return;
    this.setPaused(false);
    killGroup(pid, "SIGTERM");
    const stopTimer = startTimer(GRACE_MS, () => killGroup(pid, "SIGKILL"));
    await this.ended;
    stopTimer();
  }

  #print(text: string, print: (text: string) => void): void {
    if (text !== "" && this.#end === undefined) print(text);
  }

  #finish(end: ShellEnd): void {
    this.#end ??= end;
    this.#ended.resolve(this.#end);
  }
}

function startProblem({ code }: NodeJS.ErrnoException): string {
  return code === "ENOENT"
    ? "its folder was not found"
    : `it could not be started (${code ?? "unknown"})`;
}
