import { type ChildProcess, spawn } from "node:child_process";
import { delimiter, dirname } from "node:path";

export interface ProgramOptions {
  readonly cwd?: string;
  /** The Node that `node` means, also for scripts that start with `#!/usr/bin/env node`. */
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** With `pipe` the program notices when this process is gone: its standard input ends. */
  readonly stdin?: "ignore" | "pipe";
  /**
   * Killed after this time, so that a failed test leaves nothing behind. Default: 2 minutes; 0
   * means never.
   */
  readonly timeoutMs?: number;
}

/** How a program ended. */
export interface ProgramEnd {
  /** `null` if a signal ended it. */
  readonly code: number | null;
  /** `null` if it ended by itself. */
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running program and everything it has printed so far. */
export class Program {
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcess;
  #stdout = "";
  #stderr = "";
  #end: ProgramEnd | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(command: string, args: readonly string[], options: ProgramOptions = {}) {
    const { cwd, node = process.execPath, env, stdin = "ignore", timeoutMs = 120_000 } = options;
    this.#child = spawn(command, args, {
      ...(cwd !== undefined && { cwd }),
      env: { ...userEnvironment(node), ...env },
      stdio: [stdin, "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
      this.#wake();
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => {
        this.#end = { code, signal, stdout: this.#stdout, stderr: this.#stderr };
        resolve(this.#end);
        this.#wake();
      });
    });
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error("It did not start.");
    return pid;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** How it ended, once it has. */
  get end(): ProgramEnd | undefined {
    return this.#end;
  }

  /** Resolves with the first value that `find` finds in the output. */
  async until<T>(find: (stdout: string) => T | undefined): Promise<T> {
    for (;;) {
      const found = find(this.#stdout);
      if (found !== undefined) return found;
      if (this.#end !== undefined) {
        throw new Error(`It ended too early:\n${this.#stdout}\n${this.#stderr}`);
      }
      await this.#changed.promise;
    }
  }

  /** Sends the signal without waiting for the end. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<ProgramEnd> {
    this.signal(signal);
    return this.ended;
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/**
 * What the test runner, `npm run` and this project's own settings add, and a user does not have.
 */
const OURS =
  /^(npm_(package|lifecycle|command|config_local_prefix)|VITEST|CONVOKE_|NODE_OPTIONS$|NODE_ENV$|PORT$|BIND_HOST$|PUBLIC_URL$|FORCE_COLOR$)/;

function userEnvironment(node: string): Record<string, string | undefined> {
  const { PATH = "", ...rest } = process.env;
  const kept = Object.entries(rest).filter(([name]) => !OURS.test(name));
  return { ...Object.fromEntries(kept), PATH: [dirname(node), PATH].join(delimiter) };
}
