import type { Command, CommandGroup, CommandOption, CommandTable } from "../terminal/command.ts";

/** A word with a line of help. */
export interface Described {
  readonly word: string;
  readonly help: string;
}

/** A flag of a command, as a shell offers it. */
export interface Flag extends Described {
  /** Without dashes. */
  readonly word: string;
  /** One letter, without its dash. */
  readonly short?: string;
  /** What follows it. */
  readonly value: "none" | "file" | "text";
  /** The values to offer. Empty unless they are known. */
  readonly choices: readonly string[];
}

/** What can follow the name of a command. */
export interface Completion {
  /** The name of the command, such as `keys create`; empty for `convoke` itself. */
  readonly command: string;
  /** The next word of the name. */
  readonly words: readonly Described[];
  readonly flags: readonly Flag[];
}

/** Everything that a shell can complete, from the table that the help is made of. */
export async function completionTable(commands: CommandTable): Promise<readonly Completion[]> {
  const loaded = await Promise.all([...commands.values()].map((load) => load()));
  const names = loaded.map(({ name, summary }) => ({ word: name, help: summary }));
  const help = { word: "help", help: "Show the options and examples of a command" };
  const version = flagFor("version", { type: "boolean", help: "Show the version" });
  return [
    { command: "", words: [...names, help], flags: [HELP, version] },
    { command: "help", words: names, flags: [] },
    ...loaded.flatMap(completionsFor),
  ];
}

const HELP = flagFor("help", { type: "boolean", short: "h", help: "Show this help" });

function completionsFor(entry: Command | CommandGroup): readonly Completion[] {
  const inner = "commands" in entry ? entry.commands : (entry.subcommands ?? []);
  const words = inner.map(({ name, summary }) => ({
    word: name.slice(entry.name.length + 1),
    help: summary,
  }));
  const options = "options" in entry ? entry.options : {};
  const flags = Object.entries(options).map(([name, option]) => flagFor(name, option));
  const own = { command: entry.name, words, flags: [...flags, HELP] };
  return [own, ...inner.flatMap(completionsFor)];
}

function flagFor(word: string, { type, short, value, help, choices = [] }: CommandOption): Flag {
  const isFile = /^<(file|folder|path)\b/.test(value ?? "");
  return {
    word,
    help,
    ...(short !== undefined && { short }),
    value: type === "boolean" ? "none" : isFile ? "file" : "text",
    choices,
  };
}

/** The names of two words, such as `keys create`. */
export function innerCommands(table: readonly Completion[]): readonly string[] {
  return table.map(({ command }) => command).filter((command) => command.includes(" "));
}

/** A text in single quotes, for bash and zsh. */
export function inQuotes(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
