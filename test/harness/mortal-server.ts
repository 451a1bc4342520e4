import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Directory } from "./caller.ts";
import { commitsInFlight } from "./commit-counter.ts";
import { ScriptProcess } from "./script-process.ts";
import { type StoredTask, readStoredTasks } from "./stored-tasks.ts";

export interface MortalServerOptions {
  /** A script that serves the folder CONVOKE_DATA and calls `reportReady`; see `serveAgent`. */
  readonly script: URL;
  /** Additional environment for a process, by the number of processes before it. */
  readonly env?: (before: number) => Readonly<Record<string, string>>;
  /** How many processes end themselves, as their environment says. Default: none. */
  readonly plannedCrashes?: number;
}

/** When a server is killed. */
export interface Moment {
  /** How long after it was ready, or after it was started. */
  readonly afterMs: number;
  readonly since: "ready" | "start";
  /** Whether to wait for a commit in flight; only for scripts that count their commits. */
  readonly atCommit: boolean;
}

/** A server that has committed nothing for this long will not commit later. */
const COMMIT_TIMEOUT_MS = 10_000;

/**
 * A server that is repeatedly killed and restarted on the same data. If it ends in any other way
 * the test fails.
 */
export class MortalServer implements Directory {
  /** Everything that its processes leave behind. */
  readonly folder = mkdtempSync(join(tmpdir(), "convoke-mortal-"));
  readonly data = join(this.folder, "data");
  kills = 0;
  /** How many of the kills hit a commit in flight. */
  hits = 0;
  /** How long each start took until the server was ready. */
  readonly startsMs: number[] = [];
  readonly #options: MortalServerOptions;
  readonly #counter = join(this.folder, "commits");
  readonly #processes: ScriptProcess[] = [];
  readonly #killed = new Set<ScriptProcess>();
  #isClosed = false;

  constructor(options: MortalServerOptions) {
    this.#options = options;
  }

  /** Everything that its processes wrote to standard error. */
  get complaints(): string {
    return this.#processes.map(({ stderr }) => stderr).join("");
  }

  /** The signals that ended processes without the test's involvement. */
  get crashes(): readonly (string | null)[] {
    return this.#crashed().map(({ end }) => end!.signal);
  }

  /** Starts the next process, and resolves to its URL when it is ready. */
  start(): Promise<string> {
    writeFileSync(this.#counter, new Uint32Array(2));
    const began = performance.now();
    const started = new ScriptProcess(this.#options.script, {
      CONVOKE_DATA: this.data,
      CONVOKE_COMMITS: this.#counter,
      ...this.#options.env?.(this.#processes.length),
    });
    this.#processes.push(started);
    started.ready.then(
      () => this.startsMs.push(performance.now() - began),
      () => undefined,
    );
    return started.ready;
  }

  /** The URL of the running process, or of the next one. */
  async url(): Promise<string> {
    while (!this.#isClosed) {
      const current = this.#current;
      const url = current?.end === undefined ? await current?.ready.catch(() => "") : "";
      if (url) return url;
      this.#checkCrashes();
      if (this.#crashed().includes(this.#current!)) void this.start();
      await sleep(10);
    }
    throw new Error("the server is closed");
  }

  /** Ends the process, if there is one, with SIGKILL. */
  async kill(): Promise<void> {
    if (this.#current === undefined) return;
    await this.#stop();
    this.kills++;
    if (commitsInFlight(this.#counter) > 0) this.hits++;
  }

  /** Kills the process at the given moment, and starts the next one without waiting for it. */
  async killAt({ afterMs, since, atCommit }: Moment): Promise<void> {
    if (since === "ready") await this.#current?.ready;
    await sleep(afterMs);
    if (atCommit) await this.#commitBegun();
    await this.kill();
    void this.start();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Ends the server, and returns what it stored. */
  async stored(): Promise<readonly StoredTask[]> {
    await this.#stop();
    return readStoredTasks(this.data);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stop().finally(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  get #current(): ScriptProcess | undefined {
    return this.#processes.at(-1);
  }

  async #stop(): Promise<void> {
    this.#checkCrashes();
    const current = this.#current;
    if (current === undefined || current.end !== undefined) return;
    this.#killed.add(current);
    const { code, signal } = await current.kill();
    if (signal === "SIGKILL") return;
    throw new Error(`the server ended with ${code ?? signal} instead of SIGKILL`);
  }

  /** Resolves when a commit is in flight, or if there was none for a long time. */
  async #commitBegun(): Promise<void> {
    const deadline = performance.now() + COMMIT_TIMEOUT_MS;
    while (commitsInFlight(this.#counter) === 0 && performance.now() < deadline) await nextTurn();
  }

  #crashed(): readonly ScriptProcess[] {
    return this.#processes.filter((one) => one.end !== undefined && !this.#killed.has(one));
  }

  #checkCrashes(): void {
    const crashed = this.#crashed();
    if (crashed.length <= (this.#options.plannedCrashes ?? 0)) return;
    throw new Error(`the server ended by itself: ${crashed.at(-1)!.stderr}`);
  }
}
