import type { Logger } from "@convoke/engine";
import type { Metrics } from "@convoke/protocol";

/**
 * Carries hints between processes, so that they need not wait until they look by themselves. A text
 * may be lost, repeated or late; nothing depends on it but time.
 */
export interface Bus {
  /** Whether texts arrive, as far as is known. If not, processes look by themselves more often. */
  readonly isWorking: boolean;
  /** Up to which length in bytes a text may contain the events of a task. 0: never. */
  readonly maxEventBytes: number;
  /**
   * Sends a text of at most 7 kB to all processes, possibly including this one.
   *
   * @param taskId sends it at least to the processes that follow the task, and then it may be longer
   */
  publish(text: string, taskId?: string): void;
  /** Calls `receive` for each text from now on. Called once. */
  subscribe(receive: (text: string) => void): void;
  /** Receives texts about a task, too. Returns a function that ends it. */
  follow(taskId: string): () => void;
  close(): Promise<void>;
}

/** What a bus tells the operator. */
export interface BusReports {
  readonly logger?: Pick<Logger, "info" | "warn"> | undefined;
  readonly metrics?: Metrics | undefined;
}

/** Whether a bus works. The log says when that changes, the metrics say it at any time. */
export class BusStatus {
  readonly #name: string;
  readonly #advice: string;
  readonly #logger: BusReports["logger"];
  readonly #stopCollecting: (() => void) | undefined;
  #isWorking: boolean | undefined;

  /** @param advice what the operator can do if it does not work */
  constructor(name: "NOTIFY" | "NATS", advice: string, { logger, metrics }: BusReports) {
    this.#name = name;
    this.#advice = advice;
    this.#logger = logger;
    this.#stopCollecting = metrics?.collect((add) =>
      add("hintsDown", this.#isWorking === false ? 1 : 0, [name]),
    );
  }

  get isWorking(): boolean {
    return this.#isWorking === true;
  }

  works(): void {
    if (this.#isWorking === false) {
      this.#logger?.info(`hints between servers arrive again by ${this.#name}`);
    }
    this.#isWorking = true;
  }

  /** @param advice instead of the usual one */
  fails(error?: unknown, advice = this.#advice): void {
    if (this.#isWorking !== false) {
      this.#logger?.warn(
        `hints between servers do not arrive by ${this.#name}, so each looks by itself; ${advice}`,
        error === undefined ? {} : { error },
      );
    }
    this.#isWorking = false;
  }

  close(): void {
    this.#stopCollecting?.();
  }
}
