import type { EventEmitter } from "node:events";
import type { FromWriter, ToWriter } from "./thread-messages.ts";

/** The part of a worker thread that is used, so that a bundle can do without one. */
export interface StorageWorker extends EventEmitter {
  postMessage(message: ToWriter): void;
}

interface Options {
  readonly start: () => StorageWorker | Promise<StorageWorker>;
  readonly onMessage: (message: FromWriter) => void;
  /** Called if the thread ends before `close`. */
  readonly onEnd: (cause: Error) => void;
}

/**
 * The thread that writes, as seen from the main thread. It is started by its first message, because
 * a start takes time and memory that a server with little to do does not need.
 *
 * It keeps the process alive until `close`: a program that ends while commits are pending would lose
 * them silently.
 */
export class WriterThread {
  readonly #options: Options;
  #starting: Promise<void> | undefined;
  #worker: StorageWorker | undefined;
  #isClosing = false;
  readonly #exited = Promise.withResolvers<void>();

  constructor(options: Options) {
    this.#options = options;
  }

  post(message: ToWriter): void {
    if (this.#worker !== undefined) this.#worker.postMessage(message);
    else {
      this.#starting ??= this.#start();
      void this.#starting.then(() => this.#worker?.postMessage(message));
    }
  }

  /** Ends the thread, once it has answered. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#starting;
    if (this.#worker === undefined) return;
    this.#worker.postMessage("close");
    await this.#exited.promise;
  }

  async #start(): Promise<void> {
    try {
      const worker = await this.#options.start();
      worker.on("message", this.#options.onMessage);
      worker.on("error", (error) => this.#failed(error));
      worker.on("exit", (code) => this.#ended(code));
      this.#worker = worker;
    } catch (error) {
      this.#options.onEnd(error as Error);
    }
  }

  #failed(error: Error): void {
    if (this.#isClosing) this.#exited.reject(error);
    else this.#options.onEnd(error);
  }

  #ended(code: number): void {
    if (!this.#isClosing) this.#options.onEnd(new Error(`it exited with code ${code}`));
    this.#exited.resolve();
  }
}
