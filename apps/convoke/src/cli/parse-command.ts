import { parseArgs } from "node:util";
import type { Command, CommandContext, CommandIo } from "./command.ts";
import { didYouMean } from "./nearest.ts";
import { UsageError } from "./usage-error.ts";

/** Reads what follows a command's name. Anything the command does not know is a usage error. */
export function parseCommand(
  command: Command,
  args: readonly string[],
  io: CommandIo,
): CommandContext {
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

/** `parseArgs` explains at length; its first sentence names the flag. */
function explain(error: unknown, { options }: Command): unknown {
  const { code, message } = error as { code?: string; message: string };
  if (code?.startsWith("ERR_PARSE_ARGS_") !== true) return error;
  const sentence = message.split(/[.\n]/)[0] ?? message;
  if (code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") return new UsageError(`${sentence}.`);
  const typed = /'(-[^']*)'/.exec(sentence)?.[1] ?? "";
  const flags = Object.keys(options).map((flag) => `--${flag}`);
  return new UsageError(`${sentence}.${didYouMean(typed, flags)}`);
}
