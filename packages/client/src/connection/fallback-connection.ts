import type { ChosenInterface } from "../choose-interface.ts";
import {
  type CallOptions,
  type Calls,
  ClientError,
  type Connection,
  type OperationName,
  type RawCard,
  RemoteError,
  type Speaking,
  type StreamItem,
  type StreamOptions,
  type Streams,
} from "@convoke/protocol";

/** What every agent has; another operation may really be missing. */
const CORE: ReadonlySet<OperationName> = new Set([
  "sendMessage",
  "sendStreamingMessage",
  "getTask",
  "cancelTask",
]);

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

/** What one interface had to say to an operation. */
interface Failure {
  readonly chosen: ChosenInterface;
  readonly operation: OperationName;
  readonly error: unknown;
}

/**
 * Whether another interface may be tried. Only when the agent certainly did not
 * begin the work: nothing was sent, or what is at the address does not speak as
 * the card says. A task that is missing is an answer.
 */
function mayTryNext({ chosen, error, operation }: Failure, isConfirmed: boolean): boolean {
  if (error instanceof ClientError) {
    return error.kind === "refused" || (error.kind === "unreachable" && error.sent === false);
  }
  if (!(error instanceof RemoteError) || isConfirmed) return false;
  const { httpStatus, reason } = error;
  const isNothing = httpStatus === 404 || httpStatus === 405 || httpStatus === 501;
  if (isNothing && (reason === undefined || reason === "MethodNotFound")) return true;
  if (chosen.version !== "1.0") return false;
  // The address speaks an older version only (1.0 §3.6.2); some say so by not knowing the method.
  if (reason === "VersionNotSupported") return true;
  return reason === "MethodNotFound" && CORE.has(operation);
}

/**
 * Whether an interface is where another one could not be reached. By gRPC less
 * is certain: what has no HTTP/2 may still answer by other bindings.
 */
function isBehindClosedDoor({ url }: ChosenInterface, failures: readonly Failure[]): boolean {
  const { origin } = new URL(url);
  return failures.some(
    ({ chosen, error }) =>
      error instanceof ClientError &&
      error.kind === "unreachable" &&
      chosen.binding !== "GRPC" &&
      new URL(chosen.url).origin === origin,
  );
}

/** The error after the last interface; with one alone, what that one said. */
function allFailed(failures: readonly Failure[]): unknown {
  const [first] = failures;
  if (failures.length <= 1) return first?.error;
  const isReached = failures.some(({ error }) => error instanceof RemoteError);
  const told = failures.map(({ chosen: { binding, version, url }, error }) => {
    const problem = error instanceof Error ? error.message : String(error);
    return `${binding} ${version} at ${url}: ${problem}`;
  });
  return new ClientError(
    isReached ? "no-interface" : "unreachable",
    `none of the agent's ${failures.length} interfaces works: ${told.join("; ")}`,
    { sent: false, cause: first?.error },
  );
}
