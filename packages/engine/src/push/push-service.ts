import { createEgress, type Egress } from "@convoke/egress";
import type { Engine } from "../run/engine.ts";
import { KeptTasks } from "../task/kept-tasks.ts";
import type { Logger } from "../logging/logger.ts";
import { BACKOFF, type BackoffOptions } from "./backoff.ts";
import { Courier } from "./courier.ts";
import { DeliveryMemory } from "./delivery-memory.ts";
import { Endpoint } from "./endpoint.ts";
import type { PushRules } from "../run/push-rules.ts";
import type { PushPosition, PushRecord } from "../log/push-store.ts";
import { readTarget } from "./stored-target.ts";

const DAY_MS = 24 * 60 * 60_000;
const PAGE = 256;

/** How many couriers whose tasks wait for an answer keep what they know of them. */
const MOST_RESTING = 256;

export interface PushOptions {
  /** Hosts, addresses and networks that notifications may reach although they are private. */
  readonly allow?: readonly string[];
  /** Signs notifications, as Standard Webhooks has it. */
  readonly secret?: string;
  /** Whether chunks of artifacts are pushed as they come; by default only finished artifacts are. */
  readonly chunks?: boolean;
  readonly maxConfigsPerTask?: number;
  /** How long one attempt may take; by default 15 s. */
  readonly timeoutMs?: number;
  /** How long deliveries are tried; by default 24 h. */
  readonly maxAgeMs?: number;
  readonly backoff?: BackoffOptions;
}

/**
 * Pushes what happens to tasks to whoever asked for it. Each config has its
 * courier, each receiver its endpoint; what is to be done is in the store, so a
 * new process goes on where the last one was.
 */
export class PushService implements PushRules {
  readonly maxConfigs: number;
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #options: PushOptions;
  readonly #egress: Egress;
  readonly #couriers = new Map<string, Courier>();
  readonly #resting = new KeptTasks<Courier>({
    most: MOST_RESTING,
    onDrop: (courier) => courier.forget(),
  });
  readonly #memory = new DeliveryMemory();
  readonly #endpoints = new Map<string, Endpoint>();

  constructor(engine: Engine, logger: Logger, options: PushOptions = {}) {
    this.#engine = engine;
    this.#logger = logger;
    this.#options = options;
    this.#egress = createEgress({ allow: options.allow ?? [] });
    this.maxConfigs = options.maxConfigsPerTask ?? 10;
  }

  /** Takes up what an earlier process left undelivered. Resolves to how many configs that are. */
  async start(): Promise<number> {
    let count = 0;
    for (let after: PushPosition | undefined; ;) {
      const records = await this.#engine.backend.pushes.list({
        state: "active",
        limit: PAGE,
        ...(after && { after }),
      });
      for (const record of records) this.changed(record);
      count += records.length;
      after = records.at(-1);
      if (records.length < PAGE) return count;
    }
  }

  check(url: string): void {
    this.#egress.check(url);
  }

  changed(record: PushRecord): void {
    const key = keyOf(record);
    this.#couriers.get(key)?.stop();
    const { secret, chunks = false, timeoutMs, maxAgeMs = DAY_MS } = this.#options;
    const courier = new Courier({
      engine: this.#engine,
      egress: this.#egress,
      endpoint: this.#endpointOf(record),
      memory: this.#memory,
      record,
      secret,
      chunks,
      ...(timeoutMs !== undefined && { timeoutMs }),
      maxAgeMs,
      onRest: (resting) => this.#resting.keep(resting),
      onStop: (stopped) => {
        this.#resting.delete(stopped);
        if (this.#couriers.get(key) === stopped) this.#couriers.delete(key);
      },
      onDead: ({ taskId, id }, problem) =>
        this.#logger.warn("a push config was given up", { taskId, pushConfigId: id, problem }),
      onError: (error) => this.#logger.error("a push delivery failed", { error }),
    });
    this.#couriers.set(key, courier);
    courier.start();
  }

  deleted(taskId: string, id: string): void {
    this.#couriers.get(keyOf({ taskId, id }))?.stop();
  }

  /** Tries again what was given up. Resolves to whether there was anything. */
  async replay({ taskId, id, generation, cursor }: PushRecord): Promise<boolean> {
    const { pushes } = this.#engine.backend;
    const progress = { taskId, id, generation, cursor, state: "active", failure: null } as const;
    const record = (await pushes.progress(progress)) ? await pushes.get(taskId, id) : undefined;
    if (record === undefined) return false;
    this.#endpointOf(record).reset();
    this.changed(record);
    return true;
  }

  close(): void {
    for (const courier of this.#couriers.values()) courier.stop();
    for (const endpoint of this.#endpoints.values()) endpoint.close();
    this.#couriers.clear();
    this.#endpoints.clear();
    this.#egress.close();
  }

  #endpointOf({ config }: PushRecord): Endpoint {
    const { origin, pathname } = new URL(readTarget(config).url);
    const known = this.#endpoints.get(origin + pathname);
    if (known !== undefined) return known;
    this.#forgetIdleEndpoints();
    const endpoint = new Endpoint(this.#options.backoff ?? BACKOFF);
    this.#endpoints.set(origin + pathname, endpoint);
    return endpoint;
  }

  /** Addresses that carry an id of their own would pile up otherwise. */
  #forgetIdleEndpoints(): void {
    if (this.#endpoints.size < MAX_ENDPOINTS) return;
    for (const [key, endpoint] of this.#endpoints) {
      if (endpoint.isIdle) this.#endpoints.delete(key);
    }
  }
}

/** How many receivers are remembered before those at rest are forgotten. */
const MAX_ENDPOINTS = 1000;

/** A line break is in no id of a task. */
function keyOf({ taskId, id }: PushPosition): string {
  return `${taskId}\n${id}`;
}
