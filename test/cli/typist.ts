import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const BIN = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

export interface TypistOptions {
  /** The program that creates a pseudo-terminal; without it everything is a pipe. */
  readonly terminal?: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** How the command ended. */
export interface Typed {
  readonly code: number | null;
  /** At a terminal this is everything that the user saw. */
  readonly stdout: string;
  readonly stderr: string;
}

/** A user who runs `convoke`, types, and waits for output. */
export class Typist {
  readonly ended: Promise<Typed>;
  readonly #child: ChildProcess;
  readonly #written = { stdout: "", stderr: "" };
  #seen = 0;
  #isOver = false;
  #changed = Promise.withResolvers<void>();

  constructor(args: readonly string[], { terminal, cwd, env }: TypistOptions) {
    const own = [process.execPath, BIN, ...args];
    const [command = "", ...rest] =
      terminal === undefined ? own : [terminal, "-qefc", own.map(quoted).join(" "), "/dev/null"];
    this.#child = spawn(command, rest, {
      cwd,
      env: { PATH: process.env["PATH"], HOME: cwd, TERM: "xterm-256color", ...env },
      stdio: ["pipe", "pipe", "pipe"],
      // If the test fails, nothing is left running for long.
      timeout: 60_000,
      killSignal: "SIGKILL",
    });
    for (const name of ["stdout", "stderr"] as const) {
      this.#child[name]?.setEncoding("utf8").on("data", (text: string) => {
        this.#written[name] += text;
        this.#wake();
      });
    }
    // A closed reader does not read any more.
    this.#child.stdin?.on("error", () => undefined);
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code) => {
        this.#isOver = true;
        resolve({ code, ...this.#written });
        this.#wake();
      });
    });
    onTestFinished(async () => {
      this.#child.kill("SIGKILL");
      await this.ended;
    });
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Waits for output that was not waited for before. */
  async sees(wanted: RegExp, stream: "stdout" | "stderr" = "stdout"): Promise<RegExpExecArray> {
    for (;;) {
      const found = wanted.exec(this.#written[stream].slice(this.#seen));
      if (found !== null) {
        this.#seen += found.index + found[0].length;
        return found;
      }
      if (this.#isOver) throw new Error(`It ended too early:\n${JSON.stringify(this.#written)}`);
      await this.#changed.promise;
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
