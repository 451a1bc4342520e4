import type {
  CallOptions,
  Codec,
  OperationName,
  SelectedInterface,
  StreamOptions,
} from "@convoke/protocol";

/** One response of a stream in wire format, or a keep-alive. */
export type Frame =
  | { readonly kind: "result"; readonly result: unknown; readonly id: string }
  | { readonly kind: "alive" };

/**
 * One binding at one URL. It handles envelopes only; its codec encodes `params` and decodes results.
 */
export interface Transport {
  readonly speaking: SelectedInterface;
  readonly codec: Codec;
  /** One request, one result. */
  call(operation: OperationName, params: unknown, options?: CallOptions): Promise<unknown>;
  /**
   * One request, many results, without a time limit. Frames that arrive together are yielded
   * together, never an empty list; an error is thrown after the frames before it.
   */
  stream(
    operation: OperationName,
    params: unknown,
    options?: StreamOptions,
  ): AsyncGenerator<readonly Frame[], void, undefined>;
}

/** The items of a batch that could be read. */
export interface ReadBatch<T> {
  readonly items: readonly T[];
  /** Why the rest could not be read. */
  readonly failure?: { readonly error: unknown };
}

/** Reads a batch up to the first item that cannot be read. */
export function readBatch<Raw, T>(batch: readonly Raw[], read: (raw: Raw) => T): ReadBatch<T> {
  const items: T[] = [];
  try {
    for (const raw of batch) items.push(read(raw));
    return { items };
  } catch (error) {
    return { items, failure: { error } };
  }
}
