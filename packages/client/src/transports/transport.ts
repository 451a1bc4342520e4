import type { CallOptions, Codec, OperationName, Speaking, StreamOptions } from "@convoke/protocol";

/** One answer of a stream in the words of the wire, or a sign of life. */
export type Frame =
  | { readonly kind: "result"; readonly result: unknown; readonly id: string }
  | { readonly kind: "alive" };

/**
 * One binding at one address: opens and closes envelopes, and knows nothing of
 * what is inside. Its codec does, for `params` and results.
 */
export interface Transport {
  readonly speaking: Speaking;
  readonly codec: Codec;
  /** One request, one result. */
  call(operation: OperationName, params: unknown, options?: CallOptions): Promise<unknown>;
  /**
   * One request, many results, for as long as it takes. What arrives together
   * comes together, never nothing; an error comes after what was before it.
   */
  stream(
    operation: OperationName,
    params: unknown,
    options?: StreamOptions,
  ): AsyncGenerator<readonly Frame[], void, undefined>;
}

/** What could be read of things that arrived together. */
export interface ReadBatch<T> {
  readonly items: readonly T[];
  /** What could not: those before it have come all the same. */
  readonly failure?: { readonly error: unknown };
}

/** Reads things that arrived together, as far as they can be read. */
export function readBatch<Raw, T>(batch: readonly Raw[], read: (raw: Raw) => T): ReadBatch<T> {
  const items: T[] = [];
  try {
    for (const raw of batch) items.push(read(raw));
    return { items };
  } catch (error) {
    return { items, failure: { error } };
  }
}
