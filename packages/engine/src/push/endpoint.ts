import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import { type BackoffOptions, backoff } from "./backoff.ts";

/** What became of an attempt. */
export type Outcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "failed"; readonly problem: string; readonly retryAfterMs?: number }
  /** The receiver wants nothing of this config any more. */
  | { readonly kind: "gone"; readonly problem: string };

type Attempt = () => Promise<Outcome>;

interface Waiting {
  readonly attempt: Attempt;
  readonly settle: (outcome: Outcome) => void;
}

/** How many notifications are under way to one endpoint, while it answers. */
const AT_ONCE = 8;

/**
 * One receiver, whoever pushes to it. While it fails, one attempt after the
 * other is made, with longer and longer pauses, on behalf of all who wait: they
 * share its failure, and its recovery lets all of them go.
 */
export class Endpoint {
  readonly #options: BackoffOptions;
  #queue: Waiting[] = [];
  #underWay = 0;
  #failures = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Whether nobody waits for it and nothing is remembered of it. */
  get isIdle(): boolean {
    return this.#underWay === 0 && this.#queue.length === 0 && this.#failures === 0;
  }

  /** Whether an attempt would be made at once. */
  get isReady(): boolean {
    return this.#pause === undefined && this.#underWay < this.#atOnce && this.#queue.length === 0;
  }

  get #atOnce(): number {
    return this.#failures === 0 ? AT_ONCE : 1;
  }

  /** Makes the attempt when it is its turn. Who leaves before is forgotten. */
  deliver(attempt: Attempt, signal: AbortSignal): Promise<Outcome | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#queue = this.#queue.filter((other) => other !== waiting);
        resolve(undefined);
      };
      const settle = (outcome: Outcome): void => {
        signal.removeEventListener("abort", leave);
        resolve(outcome);
      };
      const waiting: Waiting = { attempt, settle };
      signal.addEventListener("abort", leave, { once: true });
      this.#queue.push(waiting);
      this.#next();
    });
  }

  /** Forgets that it failed: someone says that it works again. */
  reset(): void {
    this.#failures = 0;
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#next();
  }

  close(): void {
    clearTimeout(this.#pause);
    this.#queue = [];
  }

  #next(): void {
    while (this.#pause === undefined && this.#underWay < this.#atOnce) {
      const waiting = this.#queue.shift();
      if (waiting === undefined) return;
      void this.#attempt(waiting);
    }
  }

  async #attempt({ attempt, settle }: Waiting): Promise<void> {
    this.#underWay++;
    const failuresBefore = this.#failures;
    const outcome = await attempt();
    this.#underWay--;
    settle(outcome);
    if (outcome.kind !== "failed") return this.reset();
    // Those that were under way together failed for one reason.
    if (failuresBefore === this.#failures) this.#failed(outcome);
    this.#next();
  }

  #failed(outcome: Extract<Outcome, { kind: "failed" }>): void {
    this.#failures++;
    const wait = Math.min(
      Math.max(backoff(this.#failures, this.#options), outcome.retryAfterMs ?? 0),
      this.#options.longestMs,
      MAX_TIMER_MS,
    );
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#next();
    }, wait).unref();
    const all = this.#queue;
    this.#queue = [];
    for (const waiting of all) waiting.settle(outcome);
  }
}
