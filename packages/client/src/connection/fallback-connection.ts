import type { ChosenInterface } from "../choose-interface.ts";
import {
  type CallOptions,
  type Calls,
  type Connection,
  type RawCard,
  RemoteError,
  type Speaking,
  type StreamItem,
  type StreamOptions,
  type Streams,
} from "@convoke/protocol";
import { type Failure, allFailed, isBehindClosedDoor, mayTryNext } from "./fallback-rule.ts";

export interface FallbackConnectionOptions {
  readonly card: RawCard;
  /** The best first. */
  readonly candidates: readonly ChosenInterface[];
  /** Opens nothing yet; a candidate that is never needed costs nothing. */
  readonly open: (chosen: ChosenInterface) => Promise<Connection>;
  readonly close: () => void;
}

/**
 * A connection by the first interface that works. One that cannot be reached, or
 * has nothing at its address, is left for the next as long as the agent certainly
 * did nothing yet; the one that answered is remembered. Where nobody opens, the
 * other interfaces of the same origin are not tried: whichever came first when
 * the agent is back would be kept, and it may be the worst.
 */
export class FallbackConnection implements Connection {
  readonly card: RawCard;
  readonly #options: FallbackConnectionOptions;
  readonly #opened = new Map<ChosenInterface, Promise<Connection>>();
  #current: ChosenInterface;
  /** An interface that answered once is an interface, whatever it says later. */
  #hasAnswered = false;

  constructor(options: FallbackConnectionOptions) {
    const [first] = options.candidates;
    if (first === undefined) throw new TypeError("candidates must hold at least one interface");
    this.card = options.card;
    this.#options = options;
    this.#current = first;
  }

  get speaking(): Speaking {
    const { url, version, binding } = this.#current;
    return { url, version, binding };
  }

  async call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options?: CallOptions,
  ): Promise<Calls[Name]["result"]> {
    const failures: Failure[] = [];
    for (const chosen of this.#inOrder()) {
      if (isBehindClosedDoor(chosen, failures)) continue;
      try {
        const connection = await this.#open(chosen);
        const result = await connection.call(operation, request, options);
        this.#remember(chosen);
        return result;
      } catch (error) {
        this.#judge({ chosen, error, operation }, failures);
      }
    }
    throw allFailed(failures);
  }

  async *stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    options?: StreamOptions,
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    const failures: Failure[] = [];
    for (const chosen of this.#inOrder()) {
      if (isBehindClosedDoor(chosen, failures)) continue;
      let hasBegun = false;
      try {
        const connection = await this.#open(chosen);
        for await (const items of connection.stream(operation, request, options)) {
          if (!hasBegun) this.#remember(chosen);
          hasBegun = true;
          yield items;
        }
        this.#remember(chosen);
        return;
      } catch (error) {
        // What came after the first item is the task's own story.
        if (hasBegun) throw error;
        this.#judge({ chosen, error, operation }, failures);
      }
    }
    throw allFailed(failures);
  }

  close(): void {
    this.#options.close();
  }

  /** Goes on to the next, or throws what is the answer. */
  #judge(failure: Failure, failures: Failure[]): void {
    const isConfirmed = this.#hasAnswered && failure.chosen === this.#current;
    if (!mayTryNext(failure, isConfirmed)) {
      // An agent that says no is there; without a code it may be a proxy that says it.
      const { error } = failure;
      if (error instanceof RemoteError && error.code !== undefined) this.#remember(failure.chosen);
      throw failure.error;
    }
    failures.push(failure);
  }

  #inOrder(): readonly ChosenInterface[] {
    const others = this.#options.candidates.filter((chosen) => chosen !== this.#current);
    return [this.#current, ...others];
  }

  #remember(chosen: ChosenInterface): void {
    this.#current = chosen;
    this.#hasAnswered = true;
  }

  #open(chosen: ChosenInterface): Promise<Connection> {
    const known = this.#opened.get(chosen);
    if (known !== undefined) return known;
    const opening = this.#options.open(chosen);
    this.#opened.set(chosen, opening);
    // What could not be loaded may be later.
    opening.catch(() => this.#opened.delete(chosen));
    return opening;
  }
}
