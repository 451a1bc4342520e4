import type { Call, EventStreamSource } from "@convoke/engine";
import type {
  AgentCardFacts,
  Caller,
  Calls,
  ProtocolVersion,
  Streams,
  TraceContext,
} from "@convoke/protocol";
import type { HttpRequest } from "../http/exchange.ts";

/** The requests and results of operations with a single response, as plain objects of the model. */
export interface ServerCalls extends Omit<Calls, "getExtendedCard"> {
  readonly getExtendedCard: { readonly request: undefined; readonly result: AgentCardFacts };
}

/** The operations of an agent, after a request is decoded and before its response is encoded. */
export interface Operations {
  /** Performs an operation with a single response. */
  call<Name extends keyof ServerCalls>(
    operation: Name,
    request: ServerCalls[Name]["request"],
    context: OperationContext,
  ): Promise<ServerCalls[Name]["result"]>;

  /**
   * Opens a stream. The result is opaque: pass it on. Events are encoded and sent by the server after
   * the promise resolves, so an interceptor wraps the opening of a stream, not its events.
   */
  stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    context: OperationContext,
  ): Promise<EventStreamSource>;
}

/** What an interceptor knows about a request. */
export interface OperationContext {
  readonly caller: Caller;
  readonly version: ProtocolVersion;
  /** The active extensions. */
  readonly extensions: ReadonlySet<string>;
  readonly trace: TraceContext | undefined;
  /** The headers of the request; over gRPC its metadata. */
  readonly headers: Headers;
  /**
   * Headers to add to the response, also to an error response. They cannot replace the headers that
   * the protocol defines, such as `content-type`.
   */
  readonly responseHeaders: Headers;
}

/**
 * Wraps the operations of an agent. Called once when the server starts. Throw an
 * `A2AError` to reject a request.
 *
 * @example
 * const timing: Interceptor = (next) => ({
 *   ...next,
 *   async call(operation, request, context) {
 *     const start = performance.now();
 *     try {
 *       return await next.call(operation, request, context);
 *     } finally {
 *       const ms = Math.round(performance.now() - start);
 *       context.responseHeaders.set("server-timing", `${operation};dur=${ms}`);
 *     }
 *   },
 * });
 */
export type Interceptor = (next: Operations) => Operations;

/** Survives `{ ...context, caller }`, so that an interceptor can pass on a changed context. */
const CALL = Symbol("call");

interface BoundContext extends OperationContext {
  readonly [CALL]: Call;
}

/** Creates the context of one request. */
export function createContext(
  call: Call,
  headers: HttpRequest["headers"],
  responseHeaders: Headers,
): OperationContext {
  const { caller, version, trace, extensions = new Set<string>() } = call;
  const context: BoundContext = {
    caller,
    version,
    extensions,
    trace,
    headers: toHeaders(headers),
    responseHeaders,
    [CALL]: call,
  };
  return context;
}

/** The call that a context belongs to, with the changes an interceptor may have made. */
export function callFor(context: OperationContext): Call {
  const call = (context as Partial<BoundContext>)[CALL];
  if (call === undefined) {
    throw new TypeError("an interceptor must pass on the context it received, or a copy of it");
  }
  const { caller, extensions, trace } = context;
  return { ...call, caller, extensions, trace };
}

/** Wraps operations in interceptors. The first interceptor is the outermost. */
export function intercept(base: Operations, interceptors: readonly Interceptor[]): Operations {
  return interceptors.reduceRight((next, interceptor) => interceptor(next), base);
}

/** Leaves out the pseudo-headers of HTTP/2, which start with a colon. */
function toHeaders(given: HttpRequest["headers"]): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || name.startsWith(":")) continue;
    for (const one of typeof value === "string" ? [value] : value) headers.append(name, one);
  }
  return headers;
}
