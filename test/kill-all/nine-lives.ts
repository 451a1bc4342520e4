import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Directory } from "../crash/caller.ts";
import { ScriptProcess } from "../crash/script-process.ts";
import { type StoredTask, readStoredTasks } from "../crash/stored-logs.ts";
import { commitsInFlight } from "./flight-recorder.ts";

/** When a server is killed. */
export interface Moment {
  /** How long after it was ready, or after it was started. */
  readonly afterMs: number;
  readonly since: "ready" | "start";
  /** Whether to wait for a commit in flight. */
  readonly atCommit: boolean;
}

/** A server that commits nothing for so long will not do it later. */
const MOST_PATIENCE_MS = 10_000;

/** A server that is killed again and again, and started again on the same data. */
export class NineLives implements Directory {
  kills = 0;
  /** Of those, how many hit a commit in flight. */
  hits = 0;
  /** How long the starts took, from the first instruction to the first request. */
  readonly startsMs: number[] = [];
  readonly #env: Readonly<Record<string, string>>;
  readonly #script: URL;
  readonly #folder = mkdtempSync(join(tmpdir(), "convoke-kill-"));
  readonly #recorder = join(this.#folder, "recorder");
  #process: ScriptProcess;
  #killed: ScriptProcess | undefined;
  #isOver = false;
  #complaints = "";

  /** Another script than the usual gets what it needs beside the receiver by its environment. */
  constructor(
    receiverUrl: string,
    script = new URL("./kill-server.ts", import.meta.url),
    env: Readonly<Record<string, string>> = {},
  ) {
    this.#env = { CONVOKE_RECEIVER: receiverUrl, ...env };
    this.#script = script;
    this.#process = this.#start();
  }

  /** Everything that the servers complained about. */
  get complaints(): string {
    return this.#complaints + this.#process.stderr;
  }

  async url(): Promise<string> {
    while (!this.#isOver) {
      const current = this.#process;
      if (!current.hasEnded) {
        const url = await current.greeting.catch(() => undefined);
        if (url !== undefined) return url;
      }
      this.#checkDeath(current);
      await sleep(10);
    }
    throw new Error("there is no server any more");
  }

  /** Kills the server at the given moment, and starts the next one. */
  async kill({ afterMs, since, atCommit }: Moment): Promise<void> {
    if (since === "ready") await this.#process.greeting;
    await sleep(afterMs);
    await this.#commitBegun(atCommit);
    await this.#end();
    this.kills++;
    if (commitsInFlight(this.#recorder) > 0) this.hits++;
    this.#complaints += this.#process.stderr;
    this.#process = this.#start();
  }

  /** What is stored, once nobody serves it any more. */
  async stored(): Promise<readonly StoredTask[]> {
    this.#isOver = true;
    await this.#end();
    return readStoredTasks(join(this.#folder, "data"));
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Resolves when a commit is in flight, or when there was none for a long time. */
  async #commitBegun(isWanted: boolean): Promise<void> {
    const deadline = performance.now() + MOST_PATIENCE_MS;
    while (isWanted && commitsInFlight(this.#recorder) === 0 && performance.now() < deadline) {
      await nextTurn();
    }
  }

  async #end(): Promise<void> {
    this.#checkDeath(this.#process);
    this.#killed = this.#process;
    await this.#process.kill();
  }

  /** A server dies by the hand of its test or not at all. */
  #checkDeath(mortal: ScriptProcess): void {
    if (!mortal.hasEnded || mortal === this.#killed) return;
    throw new Error(`the server ended by itself: ${mortal.stderr}`);
  }

  #start(): ScriptProcess {
    writeFileSync(this.#recorder, new Uint32Array(2));
    const began = performance.now();
    // Now and then tasks without a journal are given up; the others are begun from the top.
    const restart = this.kills % 10 === 7 ? "no" : "yes";
    const started = new ScriptProcess(this.#script, {
      ...this.#env,
      CONVOKE_DATA: join(this.#folder, "data"),
      CONVOKE_RECORDER: this.#recorder,
      CONVOKE_RESTART: restart,
    });
    started.greeting.then(
      () => this.startsMs.push(performance.now() - began),
      () => undefined,
    );
    return started;
  }
}
