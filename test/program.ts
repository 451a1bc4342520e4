import { type ChildProcess, spawn } from "node:child_process";
import { delimiter, dirname } from "node:path";
import { onTestFinished } from "vitest";

interface ProgramOptions {
  readonly cwd: string;
  /** The Node that `node` means, also for scripts that begin with `#!/usr/bin/env node`. */
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** How a program ended. */
interface Ended {
  /** Absent when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running program and everything it has printed so far. */
export class Program {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #stdout = "";
  #stderr = "";
  #isOver = false;
  #changed = Promise.withResolvers<void>();

  constructor(command: string, args: readonly string[], options: ProgramOptions) {
    const { cwd, node = process.execPath, env } = options;
    this.#child = spawn(command, args, {
      cwd,
      env: { ...outerEnvironment(node), ...env },
      stdio: ["ignore", "pipe", "pipe"],
      // Whatever happens to the test, nothing is left behind for long.
      timeout: 120_000,
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
      this.#child.once("close", (code) => {
        this.#isOver = true;
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr });
        this.#wake();
      });
    });
  }

  /** The id of the very process that was started. */
  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error("It did not start.");
    return pid;
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** Resolves with what was found in the output, as soon as it is there. */
  async until<T>(find: (stdout: string) => T | undefined): Promise<T> {
    for (;;) {
      const found = find(this.#stdout);
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`It ended too early:\n${this.#stdout}\n${this.#stderr}`);
      await this.#changed.promise;
    }
  }

  async kill(signal: NodeJS.Signals): Promise<Ended> {
    this.#child.kill(signal);
    return this.ended;
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Starts a program that does not outlive its test. */
export function start(command: string, args: readonly string[], options: ProgramOptions): Program {
  const program = new Program(command, args, options);
  onTestFinished(async () => void (await program.kill("SIGKILL")));
  return program;
}

/** Runs a program to its end. */
export function run(
  command: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<Ended> {
  return new Program(command, args, options).ended;
}

/** Runs a program that has to succeed. */
export async function succeed(
  command: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options);
  if (code === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}\n${stderr}`);
}

/** What the test runner, `npm run` and this project's own settings add, and a user does not have. */
const OURS =
  /^(npm_(package|lifecycle|command|config_local_prefix)|VITEST|CONVOKE_|NODE_OPTIONS$|NODE_ENV$|PORT$|BIND_HOST$|PUBLIC_URL$|FORCE_COLOR$)/;

function outerEnvironment(node: string): Record<string, string | undefined> {
  const { PATH = "", ...rest } = process.env;
  const kept = Object.entries(rest).filter(([name]) => !OURS.test(name));
  return { ...Object.fromEntries(kept), PATH: [dirname(node), PATH].join(delimiter) };
}
