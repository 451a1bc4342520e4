import type { Command, CommandGroup, CommandTable } from "./command.ts";
import { didYouMean } from "./nearest.ts";
import { UsageError } from "./usage-error.ts";

export interface FoundCommand {
  /** A group when nothing was said about which of its commands. */
  readonly command: Command | CommandGroup;
  /** What follows its name. */
  readonly args: readonly string[];
}

/** The command that the first words name. */
export async function findCommand(
  words: readonly string[],
  commands: CommandTable,
): Promise<FoundCommand> {
  const [first = "", ...args] = words;
  const command = await commands.get(first)?.();
  if (command === undefined) throw unknownCommand([first], [...commands.keys(), "help"]);
  const [second, ...rest] = args;
  if (!isGroup(command) || second === undefined || isHelp(second)) return { command, args };
  const inner = command.commands.find(({ name }) => name === `${first} ${second}`);
  if (inner === undefined) {
    throw unknownCommand(
      [first, second],
      command.commands.map(({ name }) => name),
    );
  }
  return { command: inner, args: rest };
}

/** Where there is help about these words: about the command, or about as much of it as is right. */
export async function helpAbout(
  [first = "", second]: readonly string[],
  commands: CommandTable,
): Promise<string> {
  const command = await commands.get(first)?.();
  if (command === undefined) return "convoke help";
  const inner = isGroup(command) ? command.commands : [];
  const { name } = inner.find((candidate) => candidate.name === `${first} ${second}`) ?? command;
  return `convoke ${name} --help`;
}

export function isGroup(command: Command | CommandGroup): command is CommandGroup {
  return "commands" in command;
}

export function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

function unknownCommand(words: readonly string[], names: readonly string[]): UsageError {
  const typed = words.join(" ");
  const last = words.at(-1) ?? "";
  const what = last.startsWith("-")
    ? `There is no option ${last}`
    : `There is no command "${typed}"`;
  return new UsageError(`${what}.${didYouMean(typed, names)}`);
}
