import { startTimer } from "@convoke/protocol/internal";
import {
  ChildOutput,
  type ChildRecords,
  MARK,
  childEnvironment,
  killAtExit,
  killGroup,
  killMarked,
} from "@convoke/runtime/processes";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Readable, type Writable } from "node:stream";
import { groupMemory } from "./group-memory.ts";

export interface ProgramStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** In addition to the few variables that every program needs; ours are not passed on. */
  readonly env: Readonly<Record<string, string>>;
  readonly maxMemoryBytes: number;
  readonly maxOutputBytes: number;
  /** How long it may take to end by itself, and again after SIGTERM. */
  readonly graceMs: number;
  /** Where running programs are recorded, so that they can be ended after a crash. */
  readonly records: ChildRecords | undefined;
  /** Receives each line that it prints to stderr. */
  readonly print: (line: string) => void;
}

/** How a program ended. */
export interface ProgramEnd {
  readonly reason:
    | "start-failed"
    | "process-exited"
    | "memory-limit"
    | "output-limit"
    | "time-limit"
    | "stopped";
  /** For people, without paths and arguments: callers see it. */
  readonly text: string;
  /** Null if a signal ended it, or if it could not be started. */
  readonly exitCode: number | null;
}

/** Why a program is stopped that works on a prompt for too long. */
export const TIME_LIMIT = { reason: "time-limit", text: "It worked longer than it may." } as const;

/** How often the memory of a program is looked at. */
const MEMORY_INTERVAL_MS = 2000;

/**
 * A running program in a process group of its own, within limits. When it ends, everything that it
 * started ends too.
 */
export class ChildProgram {
  /** What it prints. Reading it is up to the protocol. */
  readonly output: Readable;
  readonly ended: Promise<ProgramEnd>;
  readonly #start: ProgramStart;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ending = Promise.withResolvers<ProgramEnd>();
  #end: ProgramEnd | undefined;
  /** Why we end it. */
  #why: Pick<ProgramEnd, "reason" | "text"> | undefined;
  #outputBytes = 0;
  #room: () => Promise<void> | undefined = () => undefined;

  constructor(start: ProgramStart) {
    this.#start = start;
    this.ended = this.#ending.promise;
    const mark = randomUUID();
    this.#child = spawn(start.command, start.args, {
      cwd: start.cwd,
      env: { ...childEnvironment(start.env), [MARK]: mark },
      stdio: "pipe",
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.output = Readable.from(this.#limited(), { objectMode: false });
    this.#watch(mark);
    this.#read(start.print);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get input(): Writable {
    return this.#child.stdin;
  }

  /** How it ended, if it has. */
  get end(): ProgramEnd | undefined {
    return this.#end;
  }

  /** Whether it has ended, or is being ended: then it is of no use any more. */
  get isEnding(): boolean {
    return this.#why !== undefined || this.#end !== undefined;
  }

  /** A new prompt has the whole limit of output; while `room` is pending, the output is not read. */
  beginPrompt(room: () => Promise<void> | undefined): void {
    this.#outputBytes = 0;
    this.#room = room;
  }

  /** Closes its input, sends SIGTERM if that does not end it, then SIGKILL. Resolves when it is gone. */
  async stop(
    why: Pick<ProgramEnd, "reason" | "text"> = { reason: "stopped", text: "It was stopped." },
  ): Promise<void> {
    const { pid } = this.#child;
    this.#why ??= why;
    if (pid === undefined || this.#end !== undefined) return;
    this.#child.stdin.end();
    this.#room = () => undefined;
    const { graceMs } = this.#start;
    const timers = [
      startTimer(graceMs, () => killGroup(pid, "SIGTERM")),
      startTimer(graceMs * 2, () => killGroup(pid, "SIGKILL")),
    ];
    await this.ended;
    for (const stopTimer of timers) stopTimer();
  }

  /** Ends it at once. */
  #kill(why: Pick<ProgramEnd, "reason" | "text">): void {
    this.#why ??= why;
    if (this.#child.pid !== undefined) killGroup(this.#child.pid, "SIGKILL");
  }

  #watch(mark: string): void {
    const { pid } = this.#child;
    this.#child.once("error", (error: NodeJS.ErrnoException) => this.#finish(startEnd(error)));
    if (pid === undefined) return;
    const forget = [killAtExit(pid), this.#start.records?.add(pid, mark), this.#watchMemory(pid)];
    this.#child.once("exit", (exitCode, signal) => {
      killGroup(pid, "SIGKILL");
      killMarked(mark);
      for (const one of forget) one?.();
      const how = signal === null ? `with exit code ${exitCode}` : `by ${signal}`;
      const why = { reason: "process-exited", text: `It ended ${how}.` } as const;
      const end: ProgramEnd = { ...(this.#why ?? why), exitCode };
      // Nobody reads the output of a program that we have stopped.
      if (this.#why !== undefined || this.output.closed) return this.#finish(end);
      // What it printed last is read first.
      this.output.once("close", () => this.#finish(end));
      startTimer(this.#start.graceMs, () => this.#finish(end), { unref: true });
      return undefined;
    });
  }

  #watchMemory(pid: number): (() => void) | undefined {
    const { maxMemoryBytes } = this.#start;
    if (maxMemoryBytes === Number.POSITIVE_INFINITY) return undefined;
    const timer = setInterval(() => {
      groupMemory(pid).then((bytes) => {
        if (bytes <= maxMemoryBytes) return;
        this.#kill({ reason: "memory-limit", text: "It used more memory than it may." });
      }, this.#start.print);
    }, MEMORY_INTERVAL_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  #read(print: (line: string) => void): void {
    const lines = new ChildOutput(print);
    const { stdin, stderr } = this.#child;
    stderr.on("data", (chunk: Buffer) => lines.add(chunk));
    stderr.once("end", () => lines.end());
    // The exit reports what is wrong.
    for (const stream of [stdin, stderr, this.output]) stream.on("error", () => undefined);
  }

  /** Its output within the limit, as fast as it is read. */
  async *#limited(): AsyncGenerator<Buffer> {
    for await (const chunk of this.#child.stdout as AsyncIterable<Buffer>) {
      this.#outputBytes += chunk.length;
      if (this.#outputBytes > this.#start.maxOutputBytes) {
        this.#kill({ reason: "output-limit", text: "It printed more than it may." });
        return;
      }
      await this.#room();
      yield chunk;
    }
  }

  #finish(end: ProgramEnd): void {
    this.#end ??= end;
    this.output.destroy();
    this.#ending.resolve(this.#end);
  }
}

function startEnd({ code }: NodeJS.ErrnoException): ProgramEnd {
  const text =
    code === "ENOENT"
      ? "It could not be started: its command or its folder was not found."
      : `It could not be started (${code ?? "unknown"}).`;
  return { reason: "start-failed", text, exitCode: null };
}
