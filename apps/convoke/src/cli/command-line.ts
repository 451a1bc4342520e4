import type { CommandContext } from "./command.ts";
import { printable } from "./printable.ts";

/**
 * A whole command line that a person can copy to go on: the same agent, spoken
 * to in the same way. What an agent names is quoted, so that pasting it is
 * safe; a token is not repeated on the screen.
 */
export function commandLine(
  { positionals, text }: CommandContext,
  command: string,
  args: readonly string[],
): string {
  const protocol = text("protocol");
  const words = [
    ...command.split(" "),
    ...positionals.slice(0, 1),
    ...(protocol === undefined ? [] : ["--protocol", protocol]),
    ...args,
  ];
  const token = text("token") === undefined ? "" : " --token …";
  return `convoke ${words.map(quoted).join(" ")}${token}`;
}

function quoted(word: string): string {
  const clean = printable(word);
  return /^[\w@%+=:,./-]+$/.test(clean) ? clean : `'${clean.replaceAll("'", String.raw`'\''`)}'`;
}
