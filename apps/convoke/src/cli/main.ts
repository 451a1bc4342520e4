import type { Command, CommandIo } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { explainError } from "./explain-error.ts";
import { commandHelp, overview } from "./help.ts";
import { didYouMean } from "./nearest.ts";
import { packageVersion } from "./package-version.ts";
import { parseCommand } from "./parse-command.ts";
import { UsageError } from "./usage-error.ts";

/** The `convoke` command: finds what was asked for, runs it, and gives the exit code. */
export async function main(
  argv: readonly string[],
  io: CommandIo,
  commands: readonly Command[],
): Promise<number> {
  const [first, ...rest] = argv;
  try {
    if (first === "--version") {
      io.stdout(`${packageVersion()}\n`);
      return EXIT.done.code;
    }
    const asked = first === undefined || isHelp(first) || first === "help" ? rest[0] : first;
    if (asked === undefined) {
      io.stdout(overview(commands));
      return EXIT.done.code;
    }
    const command = findCommand(asked, commands);
    if (asked !== first || rest.slice(0, endOfOptions(rest)).some(isHelp)) {
      io.stdout(commandHelp(command));
      return EXIT.done.code;
    }
    return await command.run(parseCommand(command, rest, io));
  } catch (error) {
    if (!(error instanceof UsageError)) return explainError(error, io);
    const known = commands.some(({ name }) => name === first);
    io.stderr(`${error.message} See: convoke ${known ? `${first} --help` : "help"}\n`);
    return EXIT.usage.code;
  }
}

function isHelp(argument: string): boolean {
  return argument === "--help" || argument === "-h";
}

/** After `--` everything is text, also "--help". */
function endOfOptions(args: readonly string[]): number {
  const place = args.indexOf("--");
  return place === -1 ? args.length : place;
}

function findCommand(name: string, commands: readonly Command[]): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const names = [...commands.map((candidate) => candidate.name), "help"];
  const what = name.startsWith("-")
    ? `There is no option ${name}`
    : `There is no command "${name}"`;
  throw new UsageError(`${what}.${didYouMean(name, names)}`);
}
