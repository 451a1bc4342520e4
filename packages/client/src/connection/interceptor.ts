import type { Connection, RequestContext } from "@convoke/protocol";

/**
 * Wraps every call of a connection: it receives what comes next in the chain and returns what the
 * rest of the client calls instead. It may look at operation, request, options and result, change
 * them, measure, log, or fail; an error that it throws reaches the caller unchanged.
 *
 * It sees each operation once: retries and fallbacks to another interface happen further in.
 *
 * @example
 * const withTenant: Interceptor = (next) => {
 *   const add = (options: CallOptions = {}) => ({
 *     ...options,
 *     context: { ...options.context, headers: { ...options.context?.headers, "X-Tenant": "blue" } },
 *   });
 *   return {
 *     call: (operation, request, options) => next.call(operation, request, add(options)),
 *     stream: (operation, request, options) => next.stream(operation, request, add(options)),
 *   };
 * };
 */
export type Interceptor = (
  next: Pick<Connection, "call" | "stream">,
) => Pick<Connection, "call" | "stream">;

/** The connection with interceptors around its calls, the outermost first. */
export function intercept(
  connection: Connection,
  interceptors: readonly Interceptor[],
): Connection {
  const calls = interceptors.reduceRight<Pick<Connection, "call" | "stream">>(
    (next, interceptor) => interceptor(next),
    connection,
  );
  return {
    get card() {
      return connection.card;
    },
    get selectedInterface() {
      return connection.selectedInterface;
    },
    get deduplicates() {
      return connection.deduplicates === true;
    },
    call: (operation, request, options) => calls.call(operation, request, options),
    stream: (operation, request, options) => calls.stream(operation, request, options),
    close: () => connection.close(),
  };
}

/** Gives every request the same context; what a single call says itself takes precedence. */
export function withContext(connection: Connection, context: RequestContext): Connection {
  const { extensions, trace, headers } = context;
  const isEmpty = extensions === undefined && trace === undefined && headers === undefined;
  return isEmpty ? connection : intercept(connection, [requestContext(context)]);
}

function requestContext(context: RequestContext): Interceptor {
  return (next) => ({
    call: (operation, request, options) =>
      next.call(operation, request, { ...options, context: { ...context, ...options?.context } }),
    stream: (operation, request, options) =>
      next.stream(operation, request, { ...options, context: { ...context, ...options?.context } }),
  });
}
