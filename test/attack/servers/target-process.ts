import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir } from "node:fs/promises";
import type { Target, Usage } from "../target.ts";
import { readInterfaces } from "../wire/card.ts";

/** A server in its own process, so that a crash, its log and its memory are seen from outside. */
export class TargetProcess {
  readonly #child: ChildProcess;
  #log = "";
  #url = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#log += text;
      });
    }
  }

  /** Starts a module with options, which it gets as JSON. */
  static async start(module: URL, options: object): Promise<TargetProcess> {
    const child = fork(module, [JSON.stringify(options)], {
      execArgv: ["--conditions=@convoke/source"],
      // As in production: Express, for example, shows stack traces otherwise.
      env: { ...process.env, NODE_ENV: "production" },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const started = new TargetProcess(child);
    const [first] = await Promise.race([once(child, "message"), once(child, "exit")]);
    if (!started.isRunning) throw new Error(`the server did not start: ${started.#log}`);
    started.#url = (first as { readonly url: string }).url;
    return started;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What is known of every process. */
  async target(): Promise<Target> {
    return {
      url: this.#url,
      interfaces: await readInterfaces(this.#url),
      log: () => Promise.resolve(this.#log),
      isRunning: () => this.isRunning,
      ...usageOf(this.#child.pid!),
    };
  }

  async stop(): Promise<void> {
    if (!this.isRunning) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }
}

/** What a process uses, where the system has /proc. */
export function usageOf(pid: number): Pick<Target, "usage"> {
  if (process.platform !== "linux") return {};
  return {
    usage: async (): Promise<Usage> => {
      const [descriptors, status] = await Promise.all([
        readdir(`/proc/${pid}/fd`),
        readFile(`/proc/${pid}/status`, "utf8"),
      ]);
      const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
      return { descriptors: descriptors.length, memoryBytes: kilobytes * 1024 };
    },
  };
}
