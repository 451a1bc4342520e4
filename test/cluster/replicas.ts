import { openPostgresBackend } from "@convoke/backends/postgres";
import { setTimeout as sleep } from "node:timers/promises";
import type { Directory } from "../harness/caller.ts";
import { DatabaseProxy } from "../harness/database-proxy.ts";
import { ScriptProcess } from "../harness/script-process.ts";
import { type StoredTask, readAllTasks } from "../harness/stored-tasks.ts";

/** What can happen to a replica, or to its connections to the database. */
export type ReplicaFault = "kill" | "stop" | "pause" | "cut" | "delay" | "lost answers";

interface ReplicasOptions {
  readonly count: number;
  readonly databaseUrl: string;
  readonly leaseMs: number;
  /** The script of a replica, which reports its URL. */
  readonly script: URL;
  readonly env: Readonly<Record<string, string>>;
  /** By how much the clock of each replica is wrong. Default: all are right. */
  readonly clocksMs?: readonly number[];
  readonly random: () => number;
}

/** The place of a replica: its process is replaced after it has ended, its connections remain. */
interface Place {
  process: ScriptProcess;
  readonly proxy: DatabaseProxy;
  readonly clockMs: number;
}

/** Several servers on one database. Each request goes to any of them, as behind a load balancer. */
export class Replicas implements Directory {
  /** How long each replica took to stop after SIGTERM. */
  readonly stopsMs: number[] = [];
  readonly #options: ReplicasOptions;
  readonly #places: readonly Place[];
  #complaints = "";
  #isClosed = false;

  private constructor(options: ReplicasOptions, proxies: readonly DatabaseProxy[]) {
    this.#options = options;
    const { clocksMs = [0] } = options;
    this.#places = proxies.map((proxy, index) => {
      const facts = { proxy, clockMs: clocksMs[index % clocksMs.length]! };
      return { ...facts, process: this.#start(facts) };
    });
  }

  /** Resolves when all of them are ready. */
  static async start(options: ReplicasOptions): Promise<Replicas> {
    const proxies = Array.from({ length: options.count }, () =>
      DatabaseProxy.start(options.databaseUrl),
    );
    const replicas = new Replicas(options, await Promise.all(proxies));
    await Promise.all(replicas.#places.map((place) => replicas.#ready(place)));
    return replicas;
  }

  /** Everything that the servers wrote to standard error. */
  get complaints(): string {
    return this.#complaints + this.#places.map((place) => place.process.stderr).join("");
  }

  async url(): Promise<string> {
    while (!this.#isClosed) {
      const place = this.#pick();
      const url = await this.#ready(place);
      if (place.process.end === undefined) return url;
      await sleep(10);
    }
    throw new Error("the servers are closed");
  }

  /** Does something to one of the replicas. One that ends is replaced. */
  async fault(fault: ReplicaFault): Promise<void> {
    const place = this.#pick();
    await this.#ready(place);
    switch (fault) {
      case "kill":
        await this.#replace(place, "SIGKILL");
        break;
      case "stop": {
        const began = performance.now();
        await this.#replace(place, "SIGTERM");
        this.stopsMs.push(performance.now() - began);
        break;
      }
      case "pause":
        // Longer than its lease, so that others take over its tasks before it goes on.
        place.process.signal("SIGSTOP");
        await this.#leases(1.5, 3);
        place.process.signal("SIGCONT");
        break;
      case "cut":
        place.proxy.cut();
        break;
      case "delay":
        place.proxy.hold();
        await this.#leases(0.2, 3);
        place.proxy.release();
        break;
      case "lost answers":
        place.proxy.loseAnswers();
        await this.#leases(0.05, 0.5);
        place.proxy.cut();
        break;
    }
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
    for (const { proxy } of this.#places) proxy.close();
  }

  /**
   * The URL of a replica. One that cannot reach the database when it starts ends, and is started again
   * as by an orchestrator.
   */
  async #ready(place: Place): Promise<string> {
    for (;;) {
      const { process } = place;
      const url = await process.ready.catch(() => undefined);
      if (url !== undefined) return url;
      if (this.#isClosed) throw new Error("the servers are closed");
      if (place.process === process) place.process = this.#start(place);
    }
  }

  async #replace(place: Place, signal: NodeJS.Signals): Promise<void> {
    await place.process.kill(signal);
    this.#complaints += place.process.stderr;
    place.process = this.#start(place);
  }

  /** Waits for some time between so many leases. */
  async #leases(least: number, most: number): Promise<void> {
    const { leaseMs, random } = this.#options;
    await sleep(leaseMs * (least + (most - least) * random()));
  }

  async #end(): Promise<void> {
    await Promise.all(this.#places.map((place) => place.process.kill()));
  }

  #pick(): Place {
    return this.#places[Math.floor(this.#options.random() * this.#places.length)]!;
  }

  #start({ proxy, clockMs }: Omit<Place, "process">): ScriptProcess {
    const { script, leaseMs, env } = this.#options;
    return new ScriptProcess(script, {
      DATABASE_URL: proxy.url,
      LEASE_MS: String(leaseMs),
      CLOCK_MS: String(clockMs),
      ...env,
    });
  }
}
