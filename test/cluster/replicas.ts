import { openPostgresBackend } from "@convoke/backends/postgres";
import { setTimeout as sleep } from "node:timers/promises";
import type { Directory } from "../harness/caller.ts";
import { ScriptProcess } from "../harness/script-process.ts";
import { type StoredTask, readAllTasks } from "../harness/stored-tasks.ts";

/** What can happen to a replica. */
export type Fault = "kill" | "stop" | "pause";

interface ReplicasOptions {
  readonly count: number;
  readonly databaseUrl: string;
  readonly leaseMs: number;
  readonly env: Readonly<Record<string, string>>;
  readonly random: () => number;
}

/** Several servers on one database. Each request goes to any of them, as behind a load balancer. */
export class Replicas implements Directory {
  readonly faults = { kill: 0, stop: 0, pause: 0 };
  /** How long each replica took to stop after SIGTERM. */
  readonly stopsMs: number[] = [];
  readonly #options: ReplicasOptions;
  readonly #all: ScriptProcess[];
  #complaints = "";
  #isClosed = false;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#all = Array.from({ length: options.count }, () => this.#start());
  }

  /** Everything that the servers wrote to standard error. */
  get complaints(): string {
    return this.#complaints + this.#all.map(({ stderr }) => stderr).join("");
  }

  async ready(): Promise<void> {
    await Promise.all(this.#all.map(({ ready }) => ready));
  }

  async url(): Promise<string> {
    while (!this.#isClosed) {
      const replica = this.#all[this.#pick()]!;
      const url = replica.end === undefined ? await replica.ready.catch(() => "") : "";
      if (url) return url;
      await sleep(10);
    }
    throw new Error("the servers are closed");
  }

  /** Does something to one of the replicas. One that ends is replaced. */
  async fault(fault: Fault): Promise<void> {
    const place = this.#pick();
    const replica = this.#all[place]!;
    await replica.ready;
    this.faults[fault]++;
    if (fault === "pause") return this.#pause(replica);
    const began = performance.now();
    await replica.kill(fault === "kill" ? "SIGKILL" : "SIGTERM");
    if (fault === "stop") this.stopsMs.push(performance.now() - began);
    this.#complaints += replica.stderr;
    this.#all[place] = this.#start();
  }

  /** Ends all replicas, and returns what they stored. */
  async stored(): Promise<readonly StoredTask[]> {
    await this.#end();
    const { databaseUrl: url } = this.#options;
    return readAllTasks(await openPostgresBackend({ url }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  /** Longer than its lease, so that others take over its tasks before it goes on. */
  async #pause(replica: ScriptProcess): Promise<void> {
    replica.signal("SIGSTOP");
    await sleep(this.#options.leaseMs * (1.5 + 1.5 * this.#options.random()));
    replica.signal("SIGCONT");
  }

  async #end(): Promise<void> {
    await Promise.all(this.#all.map((replica) => replica.kill()));
  }

  #pick(): number {
    return Math.floor(this.#options.random() * this.#all.length);
  }

  #start(): ScriptProcess {
    const { databaseUrl, leaseMs, env } = this.#options;
    return new ScriptProcess(new URL("./replica-server.ts", import.meta.url), {
      DATABASE_URL: databaseUrl,
      LEASE_MS: String(leaseMs),
      ...env,
    });
  }
}
