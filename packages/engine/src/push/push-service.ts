import { type Egress, createEgress } from "@convoke/egress";
import type { Task } from "@convoke/protocol";
import type { Engine, PushRules } from "../run/engine.ts";
import { IdleTasks } from "../task/idle-tasks.ts";
import type { Logger } from "../logging/logger.ts";
import type { BackoffOptions } from "@convoke/protocol/internal";
import {
  type DeliveryAttempt,
  DeliveryAttempts,
  configKey,
  describeAttempt,
} from "./delivery-attempts.ts";
import { DEFAULT_BACKOFF, Endpoint, attemptDelivery } from "./endpoint.ts";
import { DeliveryWorker } from "./delivery-worker.ts";
import { DeliveryMemory } from "./delivery-memory.ts";
import type { PushPosition, PushRecord } from "../log/backend.ts";
import type { Sharing } from "../log/sharing.ts";
import { createNotification, readTarget } from "./notification.ts";
import { newId } from "../task/new-id.ts";

const DAY_MS = 24 * 60 * 60_000;
const PAGE = 256;

/** Maximum number of idle delivery workers that keep their task in memory. */
const MAX_IDLE = 256;

/** How push notifications are delivered. */
export interface PushOptions {
  /**
   * Private hosts, addresses and networks that may receive notifications. Default none, so that
   * callers cannot use the server to reach internal services.
   */
  readonly allow?: readonly string[];
  /** Signs notifications as specified by Standard Webhooks. Default: notifications are not signed. */
  readonly secret?: string;
  /** Deliver every chunk of an artifact. Default false: one notification per complete artifact. */
  readonly chunks?: boolean;
  /** Maximum number of push configs per task. Default 10. */
  readonly maxConfigsPerTask?: number;
  /** Timeout of one attempt. Default 15 s; A2A recommends 10 to 30 s. */
  readonly timeoutMs?: number;
  /** Give up after deliveries have failed for this long. Default 24 h. Given-up deliveries can be replayed. */
  readonly maxAgeMs?: number;
  /** The pauses between attempts. Default: 1 s, doubling up to 5 minutes, half of it random. */
  readonly backoff?: Pick<BackoffOptions, "firstMs" | "longestMs">;
}

/**
 * Delivers push notifications. Each config has a delivery worker, each receiver
 * an endpoint. Progress is in the store, so a new process continues where the
 * last one stopped.
 */
export class PushService implements PushRules {
  readonly maxConfigs: number;
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #options: PushOptions;
  readonly #egress: Egress;
  readonly #stopMeasuring: () => void;
  readonly #workers = new Map<string, DeliveryWorker>();
  readonly #idle = new IdleTasks<DeliveryWorker>({
    maxTasks: MAX_IDLE,
    onEvict: (worker) => worker.evict(),
  });
  readonly #memory = new DeliveryMemory();
  readonly #attempts = new DeliveryAttempts();
  readonly #endpoints = new Map<string, Endpoint>();
  /** The endpoints that this process delivers to. Absent if no other process uses the storage. */
  #owned: ReadonlySet<string> | undefined;
  #claimTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(engine: Engine, logger: Logger, options: PushOptions = {}) {
    this.#engine = engine;
    this.#logger = logger;
    this.#options = options;
    if (engine.backend.sharing !== undefined) this.#owned = new Set();
    const { metrics } = engine;
    this.#egress = createEgress({
      allow: options.allow ?? [],
      setting: "push.allow (CONVOKE_PUSH_ALLOW)",
    });
    this.maxConfigs = options.maxConfigsPerTask ?? 10;
    this.#stopMeasuring = metrics.collect((add) => {
      const { pending, oldestSeconds } = this.backlog();
      add("pushPending", pending);
      add("pushOldestSeconds", oldestSeconds);
    });
  }

  /** How many configs have notifications that are not delivered yet, and how long the oldest has waited. */
  backlog(): { readonly pending: number; readonly oldestSeconds: number } {
    const since = [...this.#workers.values()].flatMap(({ pendingSince }) => pendingSince ?? []);
    const oldest = since.reduce((least, time) => Math.min(least, time), Infinity);
    const oldestSeconds = Math.max(0, this.#engine.now() - oldest) / 1000 || 0;
    return { pending: since.length, oldestSeconds };
  }

  /**
   * Resumes the deliveries of an earlier process. If processes share the storage, each endpoint belongs
   * to one of them at a time, which looks for its configs again and again.
   */
  async start(): Promise<void> {
    const { sharing } = this.#engine.backend;
    if (sharing !== undefined) return this.#claimEndpoints(sharing);
    for await (const record of this.#activeConfigs()) this.#deliver(record);
  }

  async *#activeConfigs(): AsyncGenerator<PushRecord> {
    for (let after: PushPosition | undefined; ;) {
      const records = await this.#engine.backend.pushes.list({
        state: "active",
        limit: PAGE,
        ...(after && { after }),
      });
      yield* records;
      after = records.at(-1);
      if (records.length < PAGE) return;
    }
  }

  /** Delivers to the endpoints that this process has, and to no others. */
  async #claimEndpoints(sharing: Sharing): Promise<void> {
    try {
      this.#owned = new Set(await sharing.claimEndpoints(MAX_OWNED));
      for (const worker of this.#workers.values()) {
        if (!this.#owned.has(endpointKey(worker.record))) worker.stop();
      }
      for await (const record of this.#activeConfigs()) {
        const running = this.#workers.get(configKey(record))?.record;
        if (running?.generation !== record.generation) this.changed(record);
      }
    } catch (error) {
      this.#logger.warn("push endpoints could not be claimed, trying again", { error });
    }
    if (this.#isClosed) return;
    const again = (): void => void this.#claimEndpoints(sharing);
    this.#claimTimer = setTimeout(again, CLAIM_MS).unref();
  }

  check(url: string): void {
    const { protocol, host } = this.#egress.check(url);
    if (protocol === "http:") {
      this.#logger.warn("notifications will be sent without encryption, the URL is not https", {
        host,
      });
    }
  }

  changed(record: PushRecord): void {
    if (this.#owned?.has(endpointKey(record)) !== false) this.#deliver(record);
  }

  #deliver(record: PushRecord): void {
    const key = configKey(record);
    this.#workers.get(key)?.stop();
    const { secret, chunks = false, timeoutMs, maxAgeMs = DAY_MS } = this.#options;
    const worker = new DeliveryWorker({
      engine: this.#engine,
      egress: this.#egress,
      endpoint: this.#endpointFor(record),
      memory: this.#memory,
      record,
      secret,
      chunks,
      ...(timeoutMs !== undefined && { timeoutMs }),
      maxAgeMs,
      onAttempt: (attempt) => this.#attempts.add(record, attempt),
      onIdle: (idle) => this.#idle.keep(idle),
      onStop: (stopped) => {
        this.#idle.delete(stopped);
        if (this.#workers.get(key) === stopped) this.#workers.delete(key);
      },
      onDead: ({ taskId, id }, problem) =>
        this.#logger.warn("a push config was given up", { taskId, pushConfigId: id, problem }),
      onError: (error) => this.#logger.error("a push delivery failed", { error }),
    });
    this.#workers.set(key, worker);
    worker.start();
  }

  /** The last attempts of this process for a config, oldest first, and when the next one is made. */
  deliveryOf(record: PushRecord): Delivery {
    const isActive = this.#workers.has(configKey(record));
    const nextAt = isActive ? this.#endpoints.get(endpointKey(record))?.nextAt : undefined;
    return { attempts: this.#attempts.get(record), ...(nextAt !== undefined && { nextAt }) };
  }

  /**
   * Sends the current status of a task to the receiver of a config once, as an event of its own. It
   * changes neither the progress of the config nor the pauses of its receiver.
   */
  async test(record: PushRecord, { task, signal }: TestFacts): Promise<DeliveryAttempt> {
    const { secret, timeoutMs } = this.#options;
    const { id: taskId, contextId, status } = task;
    const event = { kind: "status-update", taskId, contextId, status, final: false } as const;
    const at = Date.now();
    const target = readTarget(record.config);
    const metadata = { test: true };
    const notification = createNotification({
      target,
      event: { ...event, metadata },
      task: { ...task, metadata: { ...task.metadata, ...metadata } },
      deliveryId: `test.${newId(at)}`,
      now: at,
      secret,
    });
    const outcome = await attemptDelivery({
      egress: this.#egress,
      url: target.url,
      notification,
      eventKind: event.kind,
      signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    const attempt = describeAttempt(outcome, at, Date.now());
    this.#attempts.add(record, attempt);
    return attempt;
  }

  deleted(taskId: string, id: string): void {
    this.#attempts.delete({ taskId, id });
    this.#workers.get(configKey({ taskId, id }))?.stop();
  }

  /** Resumes deliveries that were given up. Resolves to false if the config was deleted or replaced. */
  async replay({ taskId, id, generation, cursor }: PushRecord): Promise<boolean> {
    const { pushes } = this.#engine.backend;
    const progress = { taskId, id, generation, cursor, state: "active", failure: null } as const;
    const record = (await pushes.progress(progress)) ? await pushes.get(taskId, id) : undefined;
    if (record === undefined) return false;
    this.#endpointFor(record).reset();
    this.changed(record);
    return true;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#claimTimer);
    this.#stopMeasuring();
    for (const worker of this.#workers.values()) worker.stop();
    for (const endpoint of this.#endpoints.values()) endpoint.close();
    this.#workers.clear();
    this.#endpoints.clear();
    this.#egress.close();
  }

  #endpointFor(record: PushRecord): Endpoint {
    const key = endpointKey(record);
    const known = this.#endpoints.get(key);
    if (known !== undefined) return known;
    this.#forgetIdleEndpoints();
    const endpoint = new Endpoint(this.#options.backoff ?? DEFAULT_BACKOFF);
    this.#endpoints.set(key, endpoint);
    return endpoint;
  }

  /** Limits the map: URLs may contain an id of their own, so each config may have another endpoint. */
  #forgetIdleEndpoints(): void {
    if (this.#endpoints.size < MAX_ENDPOINTS) return;
    for (const [key, endpoint] of this.#endpoints) {
      if (endpoint.isIdle) this.#endpoints.delete(key);
    }
  }
}

/** What is known about the deliveries for a config. */
interface Delivery {
  readonly attempts: readonly DeliveryAttempt[];
  /** When the next attempt is made, in milliseconds since the epoch. Absent if it does not wait. */
  readonly nextAt?: number;
}

interface TestFacts {
  readonly task: Task;
  readonly signal: AbortSignal;
}

/** How many endpoints are kept before idle ones are removed. */
const MAX_ENDPOINTS = 1000;

/** How often to look for endpoints that no process delivers to, and for new configs. */
const CLAIM_MS = 1000;

/** All of them: deliveries are light, and those of an endpoint must not wait for another process. */
const MAX_OWNED = 1_000_000;

/** What belongs to one receiver. */
function endpointKey({ config }: Pick<PushRecord, "config">): string {
  const { origin, pathname } = new URL(readTarget(config).url);
  return origin + pathname;
}
