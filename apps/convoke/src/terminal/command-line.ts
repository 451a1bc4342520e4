import type { CommandContext } from "./command.ts";
import { printable } from "@convoke/protocol/internal";

export { didYouMean } from "@convoke/protocol/internal";

/** Options to repeat, so that the agent is called in the same way. */
const REPEATED = [
  "binding",
  "a2a-version",
  "trust-key",
  "basic",
  "cert",
  "cert-key",
  "ca",
] as const;

const REPEATED_LISTS = ["extension", "allow"] as const;

/** Options whose values may be secret; the suggested command shows `…` instead. */
const SECRET = ["token", "api-key"] as const;

/**
 * A complete command line that the user can copy, for the same agent with the same connection
 * options. Ids that come from the agent are quoted, so that pasting the line is safe.
 */
export function commandLine(
  { io, positionals, text, texts, flag }: CommandContext,
  command: string,
  args: readonly string[],
): string {
  const repeated = REPEATED.flatMap((option) => {
    const value = text(option);
    return value === undefined ? [] : [`--${option}`, value];
  });
  const words = [
    ...command.split(" "),
    ...positionals.slice(0, 1),
    ...repeated,
    ...REPEATED_LISTS.flatMap((option) => texts(option).flatMap((value) => [`--${option}`, value])),
    ...(flag("require-signature") ? ["--require-signature"] : []),
    ...args,
  ];
  const secrets = SECRET.filter((option) => text(option) !== undefined).map(
    (name) => `--${name} …`,
  );
  const headers = texts("header").map(() => "--header …");
  return [io.started.program, ...words.map(quoted), ...secrets, ...headers].join(" ");
}

/** A word that a person can paste into a shell, whatever is in it. */
export function quoted(word: string): string {
  const clean = printable(word);
  return /^[\w@%+=:,./-]+$/.test(clean) ? clean : `'${clean.replaceAll("'", String.raw`'\''`)}'`;
}
