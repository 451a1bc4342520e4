import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What the test runner adds, and a server does not have. */
const OURS = /^(VITEST|CONVOKE_|NODE_OPTIONS$|NODE_ENV$)/;

/** Where Node keeps compiled code when it is asked to; each test starts the same scripts many times. */
const COMPILE_CACHE = join(tmpdir(), "node-compile-cache");

/**
 * A script as a process of its own, on the live sources. Its first line says that it is ready, and
 * where. It ends by itself when this process is gone, because its standard input does.
 */
export class ScriptProcess {
  /** Resolves when it is gone, with the signal that ended it. */
  readonly ended: Promise<string | null>;
  readonly #child: ChildProcess;
  readonly #greeting = Promise.withResolvers<string>();
  #stdout = "";
  #stderr = "";
  #hasEnded = false;

  constructor(script: URL, env: Readonly<Record<string, string>>) {
    const outer = Object.entries(process.env).filter(([name]) => !OURS.test(name));
    this.#child = spawn(process.execPath, ["--conditions=@convoke/source", fileURLToPath(script)], {
      env: { ...Object.fromEntries(outer), NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
      const end = this.#stdout.indexOf("\n");
      if (end !== -1) this.#greeting.resolve(this.#stdout.slice(0, end));
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.ended = once(this.#child, "close").then(([, signal]) => {
      this.#hasEnded = true;
      this.#greeting.reject(new Error(`the process ended before it was ready: ${this.#stderr}`));
      return signal as string | null;
    });
    this.#greeting.promise.catch(() => undefined);
  }

  /** Resolves with its first line. */
  get greeting(): Promise<string> {
    return this.#greeting.promise;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Everything it complained about. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Sends the signal at once. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it as `kill -9` does, and waits until it is gone. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }
}
