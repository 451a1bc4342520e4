import { invalidParams } from "../../model/errors.ts";

/**
 * The object with the kind that was determined for it. `kind` comes first, where readers expect it,
 * and replaces a `kind` that the sender wrote in another place or wrongly.
 */
export function withKind<K extends string, T extends object>(
  kind: K,
  value: T,
): { readonly kind: K } & Omit<T, "kind"> {
  // The first assignment determines the position, the last the value. This runs for each event of a stream.
  const named = { kind, ...value } as { kind: K } & Omit<T, "kind">;
  named.kind = kind;
  return named;
}

/** Whether the sender wrote `kind` first, as `withKind` would. */
export function isKindFirst(value: object): boolean {
  // Not Object.keys, whose array costs more than the check.
  for (const name in value) return name === "kind";
  return false;
}

/**
 * Normalizes base64 to the form that all bindings use: the alphabet of RFC 4648 §4 with padding.
 * Like ProtoJSON, it also accepts the URL alphabet and missing padding.
 */
export function readBase64(value: string, field: string): string {
  const padding = value.endsWith("==") ? 2 : Number(value.endsWith("="));
  // A slice is no copy, as the result of `replace` would be: the content may be large.
  const digits = value.slice(0, value.length - padding);
  const rest = digits.length % 4;
  if (rest === 1 || /[^\w+/-]/.test(digits)) throw invalidParams(field, "must be base64");
  const standard = digits.replaceAll("-", "+").replaceAll("_", "/");
  if (rest === 0) return standard;
  const end = lastDigit(standard.at(-1)!, rest) + "=".repeat(4 - rest);
  // Usually nothing changes.
  if (standard === digits && value.endsWith(end)) return value;
  return standard.slice(0, -1) + end;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Clears the unused bits of the last digit, so that equal bytes have equal text. */
function lastDigit(digit: string, rest: number): string {
  const kept = rest === 2 ? 0b11_0000 : 0b11_1100;
  return ALPHABET[ALPHABET.indexOf(digit) & kept]!;
}
