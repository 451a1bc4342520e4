import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { orAborted, sleep } from "@convoke/protocol/internal";
import { Connection, toAddress } from "./connection.ts";

/** What the keeper of a lease needs; it can be sent to a thread. */
export interface LeaseSettings {
  readonly url: string;
  readonly schema: string;
  readonly leaseMs: number;
  readonly host: string;
  readonly software: string;
}

/** What the keeper reports: the number of this process among those that use the database. */
interface LeaseReport {
  readonly replica: number;
}

/** Renews a lease until it is stopped. */
export interface RunningKeeper {
  stop(): Promise<void>;
}

export type StartKeeper = (
  settings: LeaseSettings,
  memory: SharedArrayBuffer,
  report: (message: LeaseReport) => void,
  fail: (error: Error) => void,
) => RunningKeeper;

/** A thread that does not run for this long is stuck: its tasks are better off elsewhere. */
const STUCK_MS = 30_000;
const TICK_MS = 1000;

/**
 * Times that two threads share, by a clock that is not set back. The keeper writes until when the
 * lease is held, and since when without a gap; the main thread writes that it runs.
 */
export class LeaseTimes {
  readonly memory: SharedArrayBuffer;
  readonly #times: BigInt64Array;

  constructor(memory = new SharedArrayBuffer(24)) {
    this.memory = memory;
    this.#times = new BigInt64Array(memory);
  }

  static now(): number {
    return Number(process.hrtime.bigint() / 1_000_000n);
  }

  get heldUntil(): number {
    return this.#get(0);
  }

  get unbrokenSince(): number {
    return this.#get(1);
  }

  get isMainThreadRunning(): boolean {
    return LeaseTimes.now() - this.#get(2) < STUCK_MS;
  }

  /**
   * A renewal that is answered only after the lease has ended leaves a gap, even if it was sent
   * before: the process or the database may have been paused meanwhile.
   *
   * @param sentAt when the renewal was sent, which is before the database executed it
   * @param answeredAt when its answer was here, which is after the database had stored it
   */
  renewed(leaseMs: number, sentAt: number, answeredAt: number): void {
    if (answeredAt >= this.heldUntil) this.#set(1, answeredAt);
    this.#set(0, sentAt + leaseMs);
  }

  lost(): void {
    this.#set(0, 0);
  }

  tick(): void {
    this.#set(2, LeaseTimes.now());
  }

  #get(index: number): number {
    return Number(Atomics.load(this.#times, index));
  }

  #set(index: number, time: number): void {
    Atomics.store(this.#times, index, BigInt(time));
  }
}

/** The lease of this process, as the main thread sees it. */
export class Lease {
  readonly #times = new LeaseTimes();
  readonly #leaseMs: number;
  readonly #ticks: NodeJS.Timeout;
  readonly #keeper: RunningKeeper;
  readonly #registered = Promise.withResolvers<void>();
  #replica = 0;
  /** Called when this process has a new number, because the one before was removed. */
  onReplaced: () => void = () => {};

  constructor(settings: LeaseSettings, start: StartKeeper, onFatal: (error: Error) => void) {
    this.#leaseMs = settings.leaseMs;
    this.#times.tick();
    this.#ticks = setInterval(() => this.#times.tick(), TICK_MS).unref();
    const report = ({ replica }: LeaseReport): void => {
      const isFirst = this.#replica === 0;
      this.#replica = replica;
      if (isFirst) this.#registered.resolve();
      else this.onReplaced();
    };
    this.#keeper = start(settings, this.#times.memory, report, (error) => {
      if (this.#replica === 0) this.#registered.reject(error);
      else onFatal(error);
    });
  }

  /** Resolves when this process has a number and a lease. */
  get registered(): Promise<void> {
    return this.#registered.promise;
  }

  /** The number of this process, which no other one ever has. */
  get replica(): number {
    return this.#replica;
  }

  /** How long ago the last renewal was sent. */
  get ageMs(): number {
    return LeaseTimes.now() - (this.#times.heldUntil - this.#leaseMs);
  }

  /** Whether no other process can have claimed tasks of this one. */
  get isHeld(): boolean {
    return LeaseTimes.now() < this.#times.heldUntil;
  }

  /** The same without a gap since a time by `performance.now()`. In a gap, others may have claimed some. */
  isHeldSince(since: number): boolean {
    const ago = performance.now() - since;
    return this.isHeld && this.#times.unbrokenSince <= LeaseTimes.now() - ago;
  }

  /**
   * Whether this process may take over tasks of others. After the database was away, all leases are
   * over; each process waits until all that live have had the time to renew theirs.
   */
  get isUnbroken(): boolean {
    return this.isHeld && LeaseTimes.now() - this.#times.unbrokenSince >= this.#leaseMs;
  }

  async close(): Promise<void> {
    clearInterval(this.#ticks);
    await this.#keeper.stop();
    this.#times.lost();
  }
}

const REGISTER = `
  INSERT INTO @.replica (until, host, software)
  VALUES (clock_timestamp() + make_interval(secs => $1), $2, $3) RETURNING n`;

const RENEW = `
  UPDATE @.replica SET until = clock_timestamp() + make_interval(secs => $2) WHERE n = $1 RETURNING n`;

/** Processes that ended long ago, and whose tasks were all claimed. */
const REMOVE_GONE = `
  DELETE FROM @.replica r WHERE r.until < clock_timestamp() - interval '1 hour'
    AND (SELECT t.n FROM @.task t WHERE t.run_by = r.n LIMIT 1) IS NULL`;

/** Renews the lease three times per its duration, on a connection of its own. */
class LeaseKeeper implements RunningKeeper {
  readonly #settings: LeaseSettings;
  readonly #times: LeaseTimes;
  readonly #report: (message: LeaseReport) => void;
  readonly #connection: Connection;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    settings: LeaseSettings,
    memory: SharedArrayBuffer,
    report: (message: LeaseReport) => void,
    fail: (error: Error) => void,
  ) {
    this.#settings = settings;
    this.#times = new LeaseTimes(memory);
    this.#report = report;
    this.#connection = new Connection(toAddress(settings.url, settings.schema));
    this.#running = this.#run().catch((error: unknown) => fail(error as Error));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.#connection.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    const { leaseMs } = this.#settings;
    let replica = await this.#register();
    let stuck = 0;
    while (!signal.aborted) {
      await sleep(leaseMs / 3, signal).catch(() => undefined);
      if (signal.aborted) return;
      if (!this.#times.isMainThreadRunning) {
        stuck += 1;
        continue;
      }
      try {
        // A task that blocks the process counts as one that crashes it, so the process gets another
        // number. Once may also mean that all of it was paused, and its main thread is about to run.
        replica = await (stuck > 1 ? this.#register() : this.#renewInTime(replica));
        stuck = 0;
      } catch {
        // A lease that cannot be renewed ends by itself; the next attempt may succeed.
      }
    }
  }

  async #register(): Promise<number> {
    const { leaseMs, host, software } = this.#settings;
    const sentAt = LeaseTimes.now();
    await this.#connection.rows(REMOVE_GONE);
    const [row] = await this.#connection.rows(REGISTER, [leaseMs / 1000, host, software]);
    const replica = Number(row?.[0]);
    // Others can claim the tasks of the number before.
    this.#times.lost();
    this.#times.renewed(leaseMs, sentAt, LeaseTimes.now());
    this.#report({ replica });
    return replica;
  }

  /** While the lease is held there is time for two attempts, the second one on another connection. */
  async #renewInTime(replica: number): Promise<number> {
    const within = this.#settings.leaseMs / 3;
    try {
      return await orAborted(this.#renew(replica), AbortSignal.timeout(within));
    } catch {
      this.#connection.reset();
      return orAborted(this.#renew(replica), AbortSignal.timeout(within));
    }
  }

  async #renew(replica: number): Promise<number> {
    const { leaseMs } = this.#settings;
    const sentAt = LeaseTimes.now();
    const renewed = await this.#connection.rows(RENEW, [replica, leaseMs / 1000]);
    if (renewed.length === 0) return this.#register();
    this.#times.renewed(leaseMs, sentAt, LeaseTimes.now());
    return replica;
  }
}

/** Renews the lease in this thread: used in the thread of the keeper, and in tests. */
export const startKeeperHere: StartKeeper = (settings, memory, report, fail) =>
  new LeaseKeeper(settings, memory, report, fail);

/** What the thread of the keeper receives when it starts. */
export interface KeeperData {
  readonly settings: LeaseSettings;
  readonly memory: SharedArrayBuffer;
}

/**
 * Renews the lease in a thread of its own, because a main thread that is busy has not ended. A bundle
 * of a server is one file, without that of the thread: then it is done in this thread.
 */
export const startKeeperThread: StartKeeper = (settings, memory, report, fail) => {
  const isSource = import.meta.url.endsWith(".ts");
  const file = new URL(isSource ? "./lease-thread.ts" : "./lease-thread.js", import.meta.url);
  if (!existsSync(file)) return startKeeperHere(settings, memory, report, fail);
  const thread = new Worker(file, {
    workerData: { settings, memory } satisfies KeeperData,
    // In development packages resolve to their sources, which need no build.
    execArgv: isSource ? ["--conditions=@convoke/source"] : [],
    name: "lease",
  });
  let isStopped = false;
  thread.on("message", report);
  thread.on("error", fail);
  thread.on("exit", (code) => {
    if (!isStopped) fail(new Error(`the thread that renews the lease exited with code ${code}`));
  });
  return {
    stop: async () => {
      isStopped = true;
      await thread.terminate();
    },
  };
};
