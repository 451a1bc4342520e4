import type { Command, CommandGroup, CommandIo } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { explainError } from "./explain-error.ts";
import { findCommand, helpAbout, isGroup, isHelp } from "./find-command.ts";
import { commandHelp, groupHelp, overview } from "./help.ts";
import { packageVersion } from "./package-version.ts";
import { parseCommand } from "./parse-command.ts";
import { UsageError } from "./usage-error.ts";

/** The `convoke` command: finds what was asked for, runs it, and gives the exit code. */
export async function main(
  argv: readonly string[],
  io: CommandIo,
  commands: readonly (Command | CommandGroup)[],
): Promise<number> {
  const [first, ...rest] = argv;
  try {
    if (first === "--version") {
      io.stdout(`${packageVersion()}\n`);
      return EXIT.done.code;
    }
    const asksForHelp = first === undefined || isHelp(first) || first === "help";
    const words = asksForHelp ? rest : argv;
    if (words.length === 0) {
      io.stdout(overview(commands));
      return EXIT.done.code;
    }
    const { command, args } = findCommand(words, commands);
    if (isGroup(command)) {
      io.stdout(groupHelp(command));
      return EXIT.done.code;
    }
    if (asksForHelp || args.slice(0, endOfOptions(args)).some(isHelp)) {
      io.stdout(commandHelp(command));
      return EXIT.done.code;
    }
    return await command.run(parseCommand(command, args, io));
  } catch (error) {
    if (!(error instanceof UsageError)) return explainError(error, io);
    io.stderr(`${error.message} See: ${helpAbout(argv, commands)}\n`);
    return EXIT.usage.code;
  }
}

/** After `--` everything is text, also "--help". */
function endOfOptions(args: readonly string[]): number {
  const place = args.indexOf("--");
  return place === -1 ? args.length : place;
}
