import { deduplicatesByMessage } from "../cards/card.ts";
import type { ChosenInterface } from "../cards/choose-interface.ts";
import {
  type CallOptions,
  type Calls,
  ClientError,
  type Connection,
  type OperationName,
  type RawCard,
  RemoteError,
  type SelectedInterface,
  type StreamItem,
  type StreamOptions,
  type Streams,
} from "@convoke/protocol";

export interface FallbackConnectionOptions {
  readonly card: RawCard;
  /** The best first. */
  readonly candidates: readonly ChosenInterface[];
  /** Called when an interface is needed for the first time. */
  readonly open: (chosen: ChosenInterface) => Promise<Pick<Connection, "call" | "stream">>;
  readonly close: () => void;
  /** Whether an answer has named idempotency, so that the header which activates it arrives. */
  readonly hasNamedIdempotency: () => boolean;
}

/**
 * Uses the first interface that works. If one cannot be reached, or nothing answers at its address,
 * the next one is tried, as long as the agent certainly did not process the request; the one that
 * answered is remembered. If an origin refuses connections, its other interfaces are not tried:
 * whichever came first when the agent is back would be kept, and it may be the worst.
 */
export class FallbackConnection implements Connection {
  /** The card in use. */
  card: RawCard;
  readonly #options: FallbackConnectionOptions;
  readonly #opening = new Map<ChosenInterface, Promise<Pick<Connection, "call" | "stream">>>();
  readonly #opened = new Map<ChosenInterface, Pick<Connection, "call" | "stream">>();
  /** The one in use, and then the others. */
  #inOrder: readonly ChosenInterface[];
  #current: ChosenInterface;
  /** Once an interface has answered, its later errors are answers, not reasons to try another. */
  #hasAnswered = false;

  constructor(options: FallbackConnectionOptions) {
    const [first] = options.candidates;
    if (first === undefined) throw new TypeError("candidates must hold at least one interface");
    this.card = options.card;
    this.#options = options;
    this.#inOrder = options.candidates;
    this.#current = first;
  }

  get selectedInterface(): SelectedInterface {
    const { url, version, binding } = this.#current;
    return { url, version, binding };
  }

  get deduplicates(): boolean {
    return deduplicatesByMessage(this.card) || this.#options.hasNamedIdempotency();
  }

  async call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options?: CallOptions,
  ): Promise<Calls[Name]["result"]> {
    const failures: Failure[] = [];
    for (const chosen of this.#inOrder) {
      if (isAtRefusedOrigin(chosen, failures)) continue;
      try {
        const calls = this.#opened.get(chosen) ?? (await this.#open(chosen));
        const result = await calls.call(operation, request, options);
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
    for (const chosen of this.#inOrder) {
      if (isAtRefusedOrigin(chosen, failures)) continue;
      let hasBegun = false;
      try {
        const calls = this.#opened.get(chosen) ?? (await this.#open(chosen));
        for await (const items of calls.stream(operation, request, options)) {
          if (!hasBegun) this.#remember(chosen);
          hasBegun = true;
          yield items;
        }
        this.#remember(chosen);
        return;
      } catch (error) {
        // After the first item an error is about the task, not about the interface.
        if (hasBegun) throw error;
        this.#judge({ chosen, error, operation }, failures);
      }
    }
    throw allFailed(failures);
  }

  close(): void {
    this.#options.close();
  }

  /** Records the failure if another interface may be tried; otherwise throws its error. */
  #judge(failure: Failure, failures: Failure[]): void {
    const isConfirmed = this.#hasAnswered && failure.chosen === this.#current;
    if (!mayTryNext(failure, isConfirmed)) {
      // An agent that rejects a request is there; without a code it may have been a proxy.
      const { error } = failure;
      if (error instanceof RemoteError && error.code !== undefined) this.#remember(failure.chosen);
      throw failure.error;
    }
    failures.push(failure);
  }

  #remember(chosen: ChosenInterface): void {
    this.#hasAnswered = true;
    if (chosen === this.#current) return;
    const others = this.#options.candidates.filter((other) => other !== chosen);
    this.#inOrder = [chosen, ...others];
    this.#current = chosen;
  }

  #open(chosen: ChosenInterface): Promise<Pick<Connection, "call" | "stream">> {
    const known = this.#opening.get(chosen);
    if (known !== undefined) return known;
    const opening = this.#options.open(chosen);
    this.#opening.set(chosen, opening);
    opening.then(
      (calls) => this.#opened.set(chosen, calls),
      // Loading the transport may succeed later.
      () => this.#opening.delete(chosen),
    );
    return opening;
  }
}

/** How an operation failed at one interface. */
interface Failure {
  readonly chosen: ChosenInterface;
  readonly operation: OperationName;
  readonly error: unknown;
}

/** The operations that every agent has; any other one may really be missing. */
const CORE: ReadonlySet<OperationName> = new Set([
  "sendMessage",
  "sendStreamingMessage",
  "getTask",
  "cancelTask",
]);

/**
 * Whether another interface may be tried: only if the agent certainly did not start the work,
 * because nothing was sent or the address does not speak the protocol that the card lists. A missing
 * task is an answer.
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
  // The address supports only an older version (1.0 §3.6.2); some servers say so with "method not found".
  if (reason === "VersionNotSupported") return true;
  return reason === "MethodNotFound" && CORE.has(operation);
}

/**
 * Whether another interface of the same origin could not be reached. A failure of gRPC does not
 * count: a server without HTTP/2 may still answer on other bindings.
 */
function isAtRefusedOrigin({ url }: ChosenInterface, failures: readonly Failure[]): boolean {
  if (failures.length === 0) return false;
  const { origin } = new URL(url);
  return failures.some(
    ({ chosen, error }) =>
      error instanceof ClientError &&
      error.kind === "unreachable" &&
      chosen.binding !== "GRPC" &&
      new URL(chosen.url).origin === origin,
  );
}

/** The error after the last interface failed; with a single one, its own error. */
function allFailed(failures: readonly Failure[]): unknown {
  const [first] = failures;
  if (failures.length <= 1) return first?.error;
  const isReached = failures.some(({ error }) => error instanceof RemoteError);
  // A refusal of the egress policy is final, so it is not reported as a failure that may pass.
  const isRefused = failures.every(
    ({ error }) => error instanceof ClientError && error.kind === "refused",
  );
  const details = failures.map(({ chosen: { binding, version, url }, error }) => {
    const problem = error instanceof Error ? error.message : String(error);
    return `${binding} ${version} at ${url}: ${problem}`;
  });
  return new ClientError(
    isRefused ? "refused" : isReached ? "no-interface" : "unreachable",
    `none of the agent's ${failures.length} interfaces works: ${details.join("; ")}`,
    { sent: false, cause: first?.error },
  );
}
