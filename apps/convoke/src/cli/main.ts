import type { CommandContext, CommandIo, CommandTable } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { findCommand, helpAbout, isGroup, isHelp } from "./find-command.ts";
import { commandHelp, groupHelp, overview } from "./help.ts";
import { packageVersion } from "./package-version.ts";
import { parseCommand } from "./parse-command.ts";
import { UsageError } from "./usage-error.ts";

/** The `convoke` command: finds what was asked for, runs it, and gives the exit code. */
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
    const asksForHelp = first === undefined || isHelp(first) || first === "help";
    const words = asksForHelp ? rest : argv;
    if (words.length === 0) {
      io.stdout(overview(await Promise.all([...commands.values()].map((load) => load()))));
      return EXIT.done.code;
    }
    const { command, args } = await findCommand(words, commands);
    if (isGroup(command)) {
      io.stdout(groupHelp(command));
      return EXIT.done.code;
    }
    if (asksForHelp || args.slice(0, endOfOptions(args)).some(isHelp)) {
      io.stdout(commandHelp(command));
      return EXIT.done.code;
    }
    context = parseCommand(command, args, io);
    return await command.run(context);
  } catch (error) {
    if (!(error instanceof UsageError)) {
      const { explainError } = await import("./explain-error.ts");
      return explainError(error, context ?? { io, positionals: [], flag: () => false });
    }
    const { message } = error;
    const advice = `See: ${await helpAbout(argv, commands)}`;
    const isJson = argv.slice(0, endOfOptions(argv)).includes("--json");
    const facts = { error: { kind: "usage", message, advice } };
    io.stderr(`${isJson ? JSON.stringify(facts) : `${message} ${advice}`}\n`);
    return EXIT.usage.code;
  }
}

/** After `--` everything is text, also "--help". */
function endOfOptions(args: readonly string[]): number {
  const place = args.indexOf("--");
  return place === -1 ? args.length : place;
}
