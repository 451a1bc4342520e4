import type { CommandContext } from "./command.ts";
import { quoted } from "./quoted.ts";

/** What is repeated, so that the agent is spoken to in the same way. */
const REPEATED = ["binding", "a2a-version", "trust-key", "basic"] as const;

/** What is not repeated on the screen, because it is or may be a secret. */
const SECRET = ["token", "api-key"] as const;

/**
 * A whole command line that a person can copy to go on: the same agent, spoken
 * to in the same way. What an agent names is quoted, so that pasting it is safe.
 */
export function commandLine(
  { positionals, text, texts, flag }: CommandContext,
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
    ...(flag("require-signature") ? ["--require-signature"] : []),
    ...args,
  ];
  const secrets = SECRET.filter((option) => text(option) !== undefined).map(
    (name) => `--${name} …`,
  );
  const headers = texts("header").map(() => "--header …");
  return ["convoke", ...words.map(quoted), ...secrets, ...headers].join(" ");
}
