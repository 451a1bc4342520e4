import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Directory } from "./caller.ts";
import { type CrashPlan, crashEnvironment } from "./crash-point.ts";
import { ScriptProcess } from "./script-process.ts";
import { type StoredTask, readStoredTasks } from "./stored-logs.ts";

/** A server that dies as planned, and whoever looks for it afterwards finds another on the same data. */
export class MortalServer implements Directory {
  /** What ended the first process, unless it was its test. */
  crashedBy: string | null | undefined;
  readonly #env: Readonly<Record<string, string>>;
  readonly #folder = mkdtempSync(join(tmpdir(), "convoke-crash-"));
  readonly #first: ScriptProcess;
  #second: ScriptProcess | undefined;
  #isStopping = false;

  /** With the spec of a model it serves an agent that thinks. */
  constructor(receiverUrl: string, plan: CrashPlan, model?: string) {
    this.#env = {
      CONVOKE_RECEIVER: receiverUrl,
      CONVOKE_DATA: this.#folder,
      ...(model !== undefined && { CONVOKE_MODEL: model }),
    };
    this.#first = this.#start(crashEnvironment(plan));
    void this.#first.ended.then((signal) => {
      if (!this.#isStopping) this.crashedBy = signal;
    });
  }

  url(): Promise<string> {
    if (!this.#first.hasEnded) return this.#first.greeting;
    this.#second ??= this.#start({});
    return this.#second.greeting;
  }

  /** What is stored, once nobody serves it any more. */
  async stored(): Promise<readonly StoredTask[]> {
    await this.#stop();
    return readStoredTasks(this.#folder);
  }

  async close(): Promise<void> {
    await this.#stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #start(env: Readonly<Record<string, string>>): ScriptProcess {
    const script = new URL("./crash-server.ts", import.meta.url);
    return new ScriptProcess(script, { ...this.#env, ...env });
  }

  async #stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([this.#first.kill(), this.#second?.kill()]);
  }
}
