import { packageVersion } from "@convoke/engine/version";
import {
  type Command,
  type CommandContext,
  type CommandGroup,
  type CommandIo,
  type CommandOption,
  type CommandTable,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { didYouMean } from "../terminal/command-line.ts";
import { asStarted } from "../terminal/invocation.ts";
import { RemovedOption, removedCommand } from "../terminal/removed.ts";
import { parseArgs } from "node:util";

/** The `convoke` command: finds the command, runs it, and returns the exit code. */
export async function main(
  argv: readonly string[],
  io: CommandIo,
  commands: CommandTable,
): Promise<number> {
  const [first, ...rest] = argv;
  let context: CommandContext | undefined;
  try {
    if (first === "--version") {
      io.stdout(`${packageVersion()}\n`);
      return EXIT.done.code;
    }
    // Not in the table: shells ask it, and people do not.
    if (first === "__complete") {
      const { completionLines } = await import("./completion.ts");
      io.stdout(await completionLines(rest, commands));
      return EXIT.done.code;
    }
    const asksForHelp = first === undefined || isHelp(first) || first === "help";
    const words = asksForHelp ? rest : argv;
    if (words.length === 0) {
      const all = await Promise.all([...commands.values()].map((load) => load()));
      io.stdout(asStarted(overview(all), io.started));
      return EXIT.done.code;
    }
    const { command, args } = await findCommand(words, commands);
    if (isGroup(command)) {
      io.stdout(asStarted(groupHelp(command), io.started));
      return EXIT.done.code;
    }
    if (asksForHelp || args.slice(0, endOfOptions(args)).some(isHelp)) {
      io.stdout(asStarted(commandHelp(command), io.started));
      return EXIT.done.code;
    }
    context = parseCommand(command, args, io);
    return await command.run(context);
  } catch (error) {
    if (error instanceof RemovedOption) {
      io.stderr(`${asStarted(error.message, io.started)}\n`);
      return EXIT.notStarted.code;
    }
    if (!(error instanceof UsageError)) {
      const { explainError } = await import("../connect/explain-error.ts");
      return explainError(error, context ?? { io, positionals: [], flag: () => false });
    }
    const message = asStarted(error.message, io.started);
    const advice = asStarted(`See: ${await helpAbout(argv, commands)}`, io.started);
    const isJson = argv.slice(0, endOfOptions(argv)).includes("--json");
    const facts = { error: { kind: "usage", message, advice } };
    io.stderr(`${isJson ? JSON.stringify(facts) : `${message} ${advice}`}\n`);
    return EXIT.usage.code;
  }
}

/** After `--` everything is text, even "--help". */
function endOfOptions(args: readonly string[]): number {
  const place = args.indexOf("--");
  return place === -1 ? args.length : place;
}

interface FoundCommand {
  /** A group if no command of it was named. */
  readonly command: Command | CommandGroup;
  /** The arguments after its name. */
  readonly args: readonly string[];
}

/** Finds the command that the first arguments name. */
async function findCommand(
  words: readonly string[],
  commands: CommandTable,
): Promise<FoundCommand> {
  const [first = "", ...args] = words;
  const command = await commands.get(first)?.();
  if (command === undefined) throw unknownCommand([first], [...commands.keys(), "help"]);
  const [second, ...rest] = args;
  if (second === undefined || isHelp(second)) return { command, args };
  const inner = innerCommands(command).find(({ name }) => name === `${first} ${second}`);
  if (inner === undefined) {
    if (!isGroup(command)) {
      const removed = removedCommand([first, second]);
      if (removed !== undefined) throw new UsageError(removed);
      return { command, args };
    }
    throw unknownCommand(
      [first, second],
      command.commands.map(({ name }) => name),
    );
  }
  return { command: inner, args: rest };
}

/** The help command for these arguments, as far as they name a command. */
async function helpAbout(
  [first = "", second]: readonly string[],
  commands: CommandTable,
): Promise<string> {
  const command = await commands.get(first)?.();
  if (command === undefined) return "convoke help";
  const inner = innerCommands(command);
  const { name } = inner.find((candidate) => candidate.name === `${first} ${second}`) ?? command;
  return `convoke ${name} --help`;
}

function innerCommands(command: Command | CommandGroup): readonly Command[] {
  return isGroup(command) ? command.commands : (command.subcommands ?? []);
}

function isGroup(command: Command | CommandGroup): command is CommandGroup {
  return "commands" in command;
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

function unknownCommand(words: readonly string[], names: readonly string[]): UsageError {
  const removed = removedCommand(words);
  if (removed !== undefined) return new UsageError(removed);
  const typed = words.join(" ");
  const last = words.at(-1) ?? "";
  const what = last.startsWith("-") ? `Unknown option ${last}` : `Unknown command "${typed}"`;
  return new UsageError(`${what}.${didYouMean(typed, names)}`);
}

/** What `convoke help` says. */
function overview(commands: readonly (Command | CommandGroup)[]): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const);
  const exits = Object.values(EXIT).map(({ code, meaning }) => [String(code), meaning] as const);
  return `Convoke hosts, runs and calls A2A agents.

Usage: convoke <command> [options]

Commands
${aligned(rows)}

Exit codes
${aligned(exits)}

convoke help <command> shows the options and examples of a command.
convoke --version shows the version.
`;
}

/** What `convoke help push` says. */
function groupHelp({ name, summary, commands }: CommandGroup): string {
  return `convoke ${name}: ${summary}

Usage: convoke ${name} <command> [options]

Commands
${aligned(commands.map((command) => [command.name, command.summary] as const))}

convoke help ${name} <command> shows the options and examples of a command.
`;
}

const HELP_OPTION: CommandOption = { type: "boolean", short: "h", help: "Show this help" };

/** What `convoke help <command>` says. */
function commandHelp(command: Command): string {
  const { name, summary, usage, options, environment, examples, more, subcommands } = command;
  const flags = Object.entries({ ...options, help: HELP_OPTION });
  return `convoke ${name}: ${summary}

Usage: convoke ${name} ${usage}

Options
${aligned(flags.map(([flag, option]) => [spelling(flag, option), option.help] as const))}
${environment === undefined ? "" : `\nEnvironment\n${aligned(Object.entries(environment))}\n`}
Examples
${examples.map((line) => `  ${line}`).join("\n")}
${subcommands === undefined ? "" : `\nCommands\n${aligned(subcommands.map((inner) => [inner.name, inner.summary] as const))}\n`}${more === undefined ? "" : `\n${more}\n`}`;
}

function spelling(flag: string, { short, value }: CommandOption): string {
  const names = short === undefined ? `--${flag}` : `-${short}, --${flag}`;
  return value === undefined ? names : `${names} ${value}`;
}

function aligned(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

/** Parses the arguments of a command. Unknown options are usage errors. */
function parseCommand(command: Command, args: readonly string[], io: CommandIo): CommandContext {
  const { values, positionals } = parse(command, args);
  return {
    io,
    positionals,
    text: (option) => {
      const value = values[option];
      return typeof value === "string" ? value : undefined;
    },
    texts: (option) => {
      const given = values[option] ?? [];
      return [given].flat().filter((value) => typeof value === "string");
    },
    flag: (option) => values[option] === true,
  };
}

function parse(command: Command, args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: command.options,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    throw explain(error, command);
  }
}

/** The first sentence of a `parseArgs` error names the flag; the rest is not needed. */
function explain(error: unknown, { options }: Command): unknown {
  const { code, message } = error as { code?: string; message: string };
  if (code?.startsWith("ERR_PARSE_ARGS_") !== true) return error;
  const sentence = message.split(/[.\n]/)[0] ?? message;
  if (code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") return new UsageError(`${sentence}.`);
  const typed = /'(-[^']*)'/.exec(sentence)?.[1] ?? "";
  const removed = RemovedOption.from(typed);
  if (removed !== undefined) return removed;
  const flags = Object.keys(options).map((flag) => `--${flag}`);
  return new UsageError(`${sentence}.${didYouMean(typed, flags)}`);
}
