/**
 * The object under the kind that we found it to be. `kind` comes first, where
 * readers look for it; one that the sender wrote elsewhere, or wrote wrongly
 * where its version has none, does not count.
 */
export function withKind<K extends string, T extends object>(
  kind: K,
  value: T,
): { readonly kind: K } & Omit<T, "kind"> {
  const { kind: _, ...rest } = value as T & { readonly kind?: unknown };
  return { kind, ...rest };
}
