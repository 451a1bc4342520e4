import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { type ScanBatch, type ScanJob, scan } from "./scan.ts";

/** A thread that waits for the next job, because starting one takes longer than most scans. */
let idle: ScanThread | undefined;

/**
 * Runs a scan in a thread of its own, because it blocks and because a regular expression may take
 * forever. The thread is stopped if the signal fires or the caller stops reading.
 */
export async function* startScan(
  job: ScanJob,
  signal: AbortSignal | undefined,
): AsyncGenerator<ScanBatch> {
  signal?.throwIfAborted();
  const file = workerFile();
  if (file === undefined) return yield* scan(job);
  const thread = idle ?? new ScanThread(new Worker(file.url, { ...file.options, name: "scan" }));
  idle = undefined;
  const stop = (): void => thread.fail(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  let isDone = false;
  try {
    thread.begin(job);
    for (let batch = await thread.next(); batch !== null; batch = await thread.next()) yield batch;
    isDone = true;
  } finally {
    signal?.removeEventListener("abort", stop);
    if (isDone && idle === undefined) idle = thread.rest();
    else await thread.stop();
  }
  return undefined;
}

/** The worker has the same extension as this file; a bundle of one file does not have it. */
function workerFile(): { url: URL; options: { execArgv: string[] } } | undefined {
  const isSource = import.meta.url.endsWith(".ts");
  const url = new URL(isSource ? "./worker.ts" : "./worker.js", import.meta.url);
  if (!existsSync(url)) return undefined;
  return { url, options: { execArgv: isSource ? ["--conditions=@convoke/source"] : [] } };
}

/** A worker thread, and what it has posted and the reader has not taken yet; null ends a scan. */
class ScanThread {
  readonly #worker: Worker;
  readonly #ready: (ScanBatch | null)[] = [];
  #waiting: PromiseWithResolvers<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.on("message", (batch: ScanBatch | null) => {
      this.#ready.push(batch);
      this.#waiting?.resolve();
    });
    worker.on("error", (error) => this.fail(error));
    worker.on("exit", () => {
      if (idle === this) idle = undefined;
      this.fail(new Error("the scan ended early"));
    });
  }

  begin(job: ScanJob): void {
    this.#worker.ref();
    this.#worker.postMessage(job);
  }

  async next(): Promise<ScanBatch | null> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      const batch = this.#ready.shift();
      if (batch !== undefined) return batch;
      this.#waiting = Promise.withResolvers();
      await this.#waiting.promise;
    }
  }

  /** Makes `next` reject. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#waiting?.resolve();
  }

  /** Lets the process end while the thread waits for another job. */
  rest(): this {
    this.#worker.unref();
    return this;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
