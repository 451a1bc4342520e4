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
