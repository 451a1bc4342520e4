import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { FileSearch, type ScanBatch, type ScanJob, type ScanRequest, scan } from "./scan.ts";

type Candidates = AsyncIterable<readonly string[]> | Iterable<readonly string[]>;

export interface ScanOptions {
  /** The files to search, for a job whose candidates are sent. */
  readonly candidates?: Candidates;
  readonly signal?: AbortSignal | undefined;
}

/** A thread that waits for the next job, because starting one takes longer than most scans. */
let idle: ScanThread | undefined;

/**
 * Runs a scan in a thread of its own, because it blocks and because a regular expression may take
 * forever. The thread is stopped if the signal fires or the caller stops reading.
 */
export async function* startScan(
  job: ScanJob,
  { candidates, signal }: ScanOptions = {},
): AsyncGenerator<ScanBatch> {
  signal?.throwIfAborted();
  const file = workerFile();
  if (file === undefined) return yield* scanHere(job, candidates);
  const thread = idle ?? new ScanThread(new Worker(file.url, { ...file.options, name: "scan" }));
  idle = undefined;
  const stop = (): void => thread.fail(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  let isDone = false;
  try {
    thread.begin(job);
    if (candidates !== undefined) thread.sendAll(candidates);
    for (let batch = await thread.next(); batch !== null; batch = await thread.next()) yield batch;
    isDone = true;
  } finally {
    signal?.removeEventListener("abort", stop);
    if (isDone && !thread.isSending && idle === undefined) idle = thread.rest();
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

async function* scanHere(
  job: ScanJob,
  candidates: Candidates | undefined,
): AsyncGenerator<ScanBatch> {
  if (candidates === undefined || job.kind !== "search") return yield* scan(job);
  const search = new FileSearch(job);
  for await (const paths of candidates) {
    for (const path of paths) {
      const batch = search.fileAt(path);
      if (batch !== undefined) yield batch;
    }
    if (search.isFull) break;
  }
  return undefined;
}

/** A worker thread, and what it has posted and the reader has not taken yet; null ends a scan. */
class ScanThread {
  readonly #worker: Worker;
  readonly #ready: (ScanBatch | null)[] = [];
  /** Whether there are candidates that were not sent yet. */
  isSending = false;
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
    this.#send(job);
  }

  /** Sends the candidates as they come. */
  sendAll(candidates: Candidates): void {
    this.isSending = true;
    const sending = async (): Promise<void> => {
      for await (const paths of candidates) this.#send({ kind: "candidates", paths });
      this.#send({ kind: "end" });
      this.isSending = false;
    };
    sending().catch((error: unknown) => this.fail(error));
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

  #send(request: ScanRequest): void {
    this.#worker.postMessage(request);
  }
}
