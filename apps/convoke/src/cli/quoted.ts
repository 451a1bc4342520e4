import { printable } from "@convoke/protocol/internal";

/** A word that a person can paste into a shell, whatever is in it. */
export function quoted(word: string): string {
  const clean = printable(word);
  return /^[\w@%+=:,./-]+$/.test(clean) ? clean : `'${clean.replaceAll("'", String.raw`'\''`)}'`;
}
