import { ClientError, type OperationName, RemoteError } from "@convoke/protocol";
import type { ChosenInterface } from "../choose-interface.ts";

/** What one interface had to say to an operation. */
export interface Failure {
  readonly chosen: ChosenInterface;
  readonly operation: OperationName;
  readonly error: unknown;
}

/**
 * Whether another interface may be tried. Only when the agent certainly did not
 * begin the work: nothing was sent, or what is at the address does not speak as
 * the card says. A task that is missing is an answer.
 */
export function mayTryNext({ chosen, error, operation }: Failure, isConfirmed: boolean): boolean {
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
export function isBehindClosedDoor(
  { url }: ChosenInterface,
  failures: readonly Failure[],
): boolean {
  const { origin } = new URL(url);
  return failures.some(
    ({ chosen, error }) =>
      error instanceof ClientError &&
      error.kind === "unreachable" &&
      chosen.binding !== "GRPC" &&
      new URL(chosen.url).origin === origin,
  );
}

/** What every agent has; another operation may really be missing. */
const CORE: ReadonlySet<OperationName> = new Set([
  "sendMessage",
  "sendStreamingMessage",
  "getTask",
  "cancelTask",
]);

/** The error after the last interface; with one alone, what that one said. */
export function allFailed(failures: readonly Failure[]): unknown {
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
