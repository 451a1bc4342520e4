/**
 * The object under the kind that we found it to be. `kind` comes first, where
 * readers look for it; one that the sender wrote elsewhere, or wrote wrongly
 * where its version has none, does not count.
 */
export function withKind<K extends string, T extends object>(
  kind: K,
  value: T,
): { readonly kind: K } & Omit<T, "kind"> {
  // Its place is that of the first, its value that of the last. Each event of a long answer comes by here.
  const named = { kind, ...value } as { kind: K } & Omit<T, "kind">;
  named.kind = kind;
  return named;
}
