import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Job } from "./targets/client-job.ts";
import type { Question, Ready } from "./targets/control.ts";

/** How long a target may take to exit by itself. */
const PATIENCE_MS = 2000;

/** A server or a client under measurement, in its own process. */
export class Target {
  readonly #file: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #root: string | undefined;
  #child: ChildProcess;
  #url: string;

  private constructor(
    facts: {
      readonly file: string;
      readonly env: NodeJS.ProcessEnv;
      readonly root: string | undefined;
    },
    child: ChildProcess,
    url: string,
  ) {
    this.#file = facts.file;
    this.#env = facts.env;
    this.#root = facts.root;
    this.#child = child;
    this.#url = url;
  }

  /**
   * Starts `targets/<file>`, and waits until it listens, or knows whom to call.
   *
   * @param root another checkout whose target is started; by default this one
   */
  static async start(file: string, env: NodeJS.ProcessEnv = {}, root?: string): Promise<Target> {
    const child = launch(file, env, root);
    return new Target({ file, env, root }, child, await addressOf(child));
  }

  get url(): string {
    return this.#url;
  }

  /** The environment that it was started with, in addition to this process's own. */
  get env(): NodeJS.ProcessEnv {
    return this.#env;
  }

  async ask<T>(question: Question | Job): Promise<T> {
    const answer = once(this.#child, "message") as Promise<[T]>;
    this.#child.send(question);
    return (await answer)[0];
  }

  /** The CPU that all its threads have used, in microseconds, read once its event loop is idle. */
  async cpu(): Promise<number> {
    await this.ask("ping");
    const cpu = this.busyCpu();
    if (cpu !== undefined) return cpu;
    const { user, system } = await this.ask<NodeJS.CpuUsage>("cpu");
    return user + system;
  }

  /** The same, read from outside, for a target whose event loop is blocked. Unknown without /proc. */
  busyCpu(): number | undefined {
    const threads = `/proc/${this.#child.pid}/task`;
    try {
      return readdirSync(threads).reduce((sum, id) => sum + usedBy(threads, id), 0);
    } catch {
      return undefined;
    }
  }

  /** Kills it in the middle of its work and starts it again. */
  async restart(): Promise<void> {
    if (this.#child.signalCode === null) await this.kill();
    this.#child = launch(this.#file, this.#env, this.#root);
    this.#url = await addressOf(this.#child);
  }

  async kill(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }

  async close(): Promise<void> {
    if (!this.#child.connected) return;
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await Promise.race([exited, sleep(PATIENCE_MS, undefined, { ref: false })]);
    if (this.#child.exitCode === null) this.#child.kill("SIGKILL");
  }
}

/** If `BENCH_PROFILES` is set to a folder, each target writes CPU profiles of its threads there. */
function launch(file: string, env: NodeJS.ProcessEnv, root?: string): ChildProcess {
  const folder = process.env["BENCH_PROFILES"];
  // Through the environment, because the storage thread inherits no flags from its parent.
  const profile = folder && { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}/${file}` };
  const bench = root === undefined ? import.meta.dirname : join(root, "bench");
  return fork(join(bench, "targets", file), {
    ...(root !== undefined && { cwd: root }),
    execArgv: ["--conditions=@convoke/source", "--expose-gc"],
    env: { ...process.env, ...env, ...profile },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

async function addressOf(child: ChildProcess): Promise<string> {
  const gone = once(child, "exit").then(() => Promise.reject(new Error("a target did not start")));
  const [ready] = (await Promise.race([once(child, "message"), gone])) as [Ready];
  gone.catch(() => undefined);
  return ready.url;
}

/** CPU time of one thread, in microseconds. */
function usedBy(threads: string, id: string): number {
  const [nanoseconds] = readFileSync(`${threads}/${id}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1000;
}
