import type { Interceptor } from "@convoke/client";
import type { CallOptions } from "@convoke/client/connection";

// The code of docs/guide/interceptors.md below "Calling agents", verbatim; interceptors.test.ts
// compares and runs it.

export const withTenant: Interceptor = (next) => {
  const add = (options: CallOptions = {}): CallOptions => ({
    ...options,
    context: { ...options.context, headers: { ...options.context?.headers, "X-Tenant": "blue" } },
  });
  return {
    call: (operation, request, options) => next.call(operation, request, add(options)),
    stream: (operation, request, options) => next.stream(operation, request, add(options)),
  };
};

export const withTiming =
  (report: (operation: string, ms: number) => void): Interceptor =>
  (next) => ({
    async call(operation, request, options) {
      const startedAt = performance.now();
      try {
        return await next.call(operation, request, options);
      } finally {
        report(operation, performance.now() - startedAt);
      }
    },
    async *stream(operation, request, options) {
      const startedAt = performance.now();
      try {
        yield* next.stream(operation, request, options);
      } finally {
        report(operation, performance.now() - startedAt);
      }
    },
  });

export const withLogging =
  (log: (line: string) => void): Interceptor =>
  (next) => ({
    async call(operation, request, options) {
      try {
        const result = await next.call(operation, request, options);
        log(`${operation} succeeded`);
        return result;
      } catch (error) {
        log(`${operation} failed: ${error instanceof Error ? error.message : String(error)}`);
        throw error;
      }
    },
    async *stream(operation, request, options) {
      log(`${operation} started`);
      try {
        yield* next.stream(operation, request, options);
      } finally {
        log(`${operation} ended`);
      }
    },
  });
