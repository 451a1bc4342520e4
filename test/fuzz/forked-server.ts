import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import type { ServeAgentOptions } from "convoke";

/** What the server process measures about itself, after a garbage collection. */
interface Usage {
  readonly heapBytes: number;
  readonly connections: number;
}

/** The server under attack, in its own process so that the test sees a crash and survives it. */
export class ForkedServer {
  readonly url: URL;
  readonly #child: ChildProcess;
  #complaints = "";

  private constructor(child: ChildProcess, url: URL) {
    this.#child = child;
    this.url = url;
    child.stderr?.on("data", (piece: Buffer) => {
      this.#complaints += piece.toString();
    });
  }

  /** Options are passed to the other process as JSON. */
  static async start(options: ServeAgentOptions = {}): Promise<ForkedServer> {
    const child = fork(new URL("./fuzz-server.ts", import.meta.url), [JSON.stringify(options)], {
      execArgv: ["--conditions=@convoke/source", "--expose-gc"],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    const [{ url }] = (await once(child, "message")) as [{ url: string }];
    return new ForkedServer(child, new URL(url));
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Everything the process has written to stderr, except for the audit log of rejected requests. */
  get complaints(): string {
    const lines = this.#complaints.split("\n");
    return lines.filter((line) => !line.includes('"audit":true')).join("\n");
  }

  async usage(): Promise<Usage> {
    const answered = once(this.#child, "message") as Promise<[Usage]>;
    this.#child.send("usage?");
    return (await answered)[0];
  }

  /**
   * Open descriptors as the system counts them; without /proc, the connections Node knows about.
   */
  async descriptors(): Promise<number> {
    if (process.platform !== "linux") return (await this.usage()).connections;
    return (await readdir(`/proc/${this.#child.pid}/fd`)).length;
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
