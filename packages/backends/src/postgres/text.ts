/**
 * Postgres text has no NUL. Ids, owners and other free text are stored with an escape that keeps
 * their order: NUL is `\x01\x01` and `\x01` is `\x01\x02`. JSON needs none, because it escapes
 * control characters itself. A surrogate without its pair has no UTF-8 and becomes U+FFFD.
 */
export function toText(value: string): string {
  return value.toWellFormed().replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001");
}

/** The original of a text that `toText` escaped. */
export function fromText(stored: string): string {
  return stored.replaceAll("\u0001\u0001", "\0").replaceAll("\u0001\u0002", "\u0001");
}
