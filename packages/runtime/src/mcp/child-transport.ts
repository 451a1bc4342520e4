import {
  type JSONRPCMessage,
  ReadBuffer,
  type Transport,
  serializeMessage,
} from "@modelcontextprotocol/client";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { childEnvironment, killAtExit, killGroup } from "../processes/child-group.ts";
import { ChildOutput } from "../processes/child-output.ts";
import type { ChildRecords } from "../processes/child-records.ts";
import { McpError } from "./mcp-error.ts";
import type { CommandTarget } from "./mcp-settings.ts";

export interface ChildTransportOptions {
  readonly records: ChildRecords | undefined;
  readonly maxMessageBytes: number;
  /** Receives each line that the server prints to stderr. */
  readonly print: (line: string) => void;
}

/** How long a server may take to exit on its own, and then again after a signal. */
const GRACE_MS = 1000;

/** How long to keep reading output after the server's process group is gone. */
const LAST_OUTPUT_MS = 500;

/**
 * Runs a server as a child process in its own process group, so that everything it starts ends with
 * it. Lines that are not messages are skipped, because many servers print greetings.
 */
export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #target: CommandTarget;
  readonly #options: ChildTransportOptions;
  readonly #buffer: ReadBuffer;
  readonly #ended = Promise.withResolvers<void>();
  #child: ChildProcessWithoutNullStreams | undefined;
  #end: McpError | undefined;
  #isClosed = false;

  constructor(target: CommandTarget, options: ChildTransportOptions) {
    this.#target = target;
    this.#options = options;
    this.#buffer = new ReadBuffer({ maxBufferSize: options.maxMessageBytes });
  }

  /** How the process ended, once it has. This is more specific than a plain "connection closed". */
  get end(): McpError | undefined {
    return this.#end;
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.#target;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const child = spawn(command, args, {
      cwd,
      env: childEnvironment(env),
      stdio: "pipe",
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.#child = child;
    const forget = child.pid === undefined ? [] : this.#watch(child.pid);
    child.once("spawn", resolve);
    child.once("error", (error: NodeJS.ErrnoException) => {
      this.#end ??= startError(error);
      reject(this.#end);
      this.#finish();
    });
    child.once("exit", (code, signal) => {
      this.#end ??= gone(
        signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`,
      );
      // Processes that the server started must not outlive it or keep its output open.
      if (child.pid !== undefined) killGroup(child.pid, "SIGKILL");
      for (const one of forget) one();
      setTimeout(() => this.#finish(), LAST_OUTPUT_MS).unref();
    });
    child.once("close", () => this.#finish());
    this.#read(child);
    return promise;
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || !stdin.writable || this.#isClosed) {
      return Promise.reject(this.#end ?? gone("it is not running"));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // A broken pipe means that the process has ended. Its exit event follows and reports the
    // reason.
    stdin.write(serializeMessage(message), (error) =>
      isBroken(error) ? undefined : error ? reject(error) : resolve(),
    );
    return promise;
  }

  /**
   * Resolves when the process is gone. Closes its input first, then sends a signal, then kills it.
   */
  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return this.#finish();
    this.#end ??= gone("it was closed");
    child.stdin.end();
    this.#tellClosed();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#isOver()) return undefined;
      killGroup(child.pid, signal);
    }
    return this.#ended.promise;
  }

  #watch(pid: number): readonly (() => void)[] {
    const forget = this.#options.records?.add(pid);
    return [killAtExit(pid), ...(forget === undefined ? [] : [forget])];
  }

  #read(child: ChildProcessWithoutNullStreams): void {
    const output = new ChildOutput(this.#options.print);
    child.stderr.on("data", (chunk: Buffer) => output.add(chunk));
    child.stderr.once("end", () => output.end());
    child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.on("error", (error) => this.onerror?.(error));
    }
  }

  #take(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch {
      this.#end ??= gone(`it sent more than ${this.#options.maxMessageBytes} bytes in one message`);
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error as Error);
      }
    }
  }

  async #isOver(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), GRACE_MS);
    void this.#ended.promise.then(() => resolve(true));
    const isOver = await promise;
    clearTimeout(timer);
    return isOver;
  }

  #finish(): void {
    this.#buffer.clear();
    this.#ended.resolve();
    this.#tellClosed();
  }

  #tellClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }
}

function gone(message: string): McpError {
  return new McpError("gone", message);
}

/** The error contains neither paths nor arguments, because it is shown in the server's status. */
function startError(cause: NodeJS.ErrnoException): McpError {
  const why =
    cause.code === "ENOENT"
      ? "its command or its working directory was not found"
      : `its command could not be started (${cause.code ?? "unknown"})`;
  return new McpError("unreachable", why, { cause });
}

function isBroken(error: Error | null | undefined): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === "EPIPE";
}
