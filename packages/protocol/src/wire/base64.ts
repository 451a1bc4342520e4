import { invalidParams } from "../errors.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * Bytes as text, in the one spelling that all bindings give them: the alphabet
 * of RFC 4648 §4 with padding. That of URLs, and no padding, are read as well,
 * as ProtoJSON has it.
 */
export function readBase64(value: string, field: string): string {
  const digits = value.replace(/={1,2}$/, "");
  const rest = digits.length % 4;
  if (rest === 1 || !/^[\w+/-]*$/.test(digits)) throw invalidParams(field, "must be base64");
  const standard = digits.replaceAll("-", "+").replaceAll("_", "/");
  if (rest === 0) return standard;
  return standard.slice(0, -1) + lastDigit(standard.at(-1)!, rest) + "=".repeat(4 - rest);
}

/** Two spellings of the same bytes differ in bits of the last digit that say nothing. */
function lastDigit(digit: string, rest: number): string {
  const kept = rest === 2 ? 0b11_0000 : 0b11_1100;
  return ALPHABET[ALPHABET.indexOf(digit) & kept]!;
}
