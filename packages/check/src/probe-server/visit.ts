import type { SeenRequest, Step } from "./seen-request.ts";

/** What the client under test ended with. */
export type ClientResult =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "error"; readonly error: string }
  /** The client does not support what the probe is about. */
  | { readonly kind: "unsupported"; readonly reason: string }
  /** It had not finished within its time limit. */
  | { readonly kind: "timeout"; readonly afterMs: number };

/** Everything that the client has done at one probe. */
export class Visit {
  readonly #requests: SeenRequest[] = [];
  #result: ClientResult | undefined;
  #open = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  get requests(): readonly SeenRequest[] {
    return this.#requests;
  }

  get result(): ClientResult | undefined {
    return this.#result;
  }

  get isVisited(): boolean {
    return this.#result !== undefined || this.#requests.length > 0;
  }

  /** From the first request to the end of the last response. */
  get durationMs(): number {
    const [first] = this.#requests;
    return first === undefined ? 0 : Math.max(0, Math.round(this.#lastMs - first.atMs));
  }

  /** Whether the client has reported its result, or has been silent for that long. */
  isOver(idleMs: number): boolean {
    if (this.#result !== undefined) return true;
    return this.isVisited && this.#open === 0 && performance.now() - this.#lastMs > idleMs;
  }

  finish(result: ClientResult): void {
    this.#result ??= result;
  }

  /** Records a request and returns it with its ordinal. */
  record(request: Omit<SeenRequest, "count" | "atMs">): SeenRequest {
    const count = this.#requests.filter(({ step }) => step === request.step).length + 1;
    const seen = { ...request, count, atMs: performance.now() };
    this.#requests.push(seen);
    this.#open += 1;
    return seen;
  }

  /** The response to a request is complete, or its connection closed. */
  settle(): void {
    this.#open -= 1;
    this.#lastMs = performance.now();
  }

  /** The requests of these operations at the agent itself, in order. */
  calls(...steps: readonly Step[]): readonly SeenRequest[] {
    return this.#requests.filter(({ step, isForeign }) => !isForeign && steps.includes(step));
  }
}
