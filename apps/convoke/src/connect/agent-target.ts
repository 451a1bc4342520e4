import { existsSync } from "node:fs";
import { type CommandContext, type CommandOption, UsageError } from "../terminal/command.ts";
import { readUrl, rejectMoreArguments } from "./agent-options.ts";

/** Options of a command that runs the agent of a file in its own process. */
export const FILE_OPTIONS = {
  data: {
    type: "string",
    value: "<folder>",
    help: 'With a file: the folder for tasks, or "memory" (CONVOKE_DATA, .convoke/<agent id>)',
  },
} as const satisfies Record<string, CommandOption>;

/** The environment variables of such a command. */
export const FILE_ENVIRONMENT = {
  CONVOKE_DATA: 'With a file: the folder for tasks, or "memory" (.convoke/<agent id>)',
  CONVOKE_LOG_FORMAT: "With a file: pretty or json (json)",
  CONVOKE_LOG: "With a file: log level, one of debug, info, warn, error or silent (warn)",
} as const;

export interface AgentTarget {
  readonly text: string;
  readonly isUrl: boolean;
}

/**
 * The agent that a command is for: an argument with a scheme is an address, everything else a file.
 * Options of the other kind are rejected.
 */
export function readTarget(
  context: CommandContext,
  urlOptions: Readonly<Record<string, CommandOption>>,
): AgentTarget {
  const [text] = context.positionals;
  if (text === undefined) throw new UsageError("The address or the file of the agent is missing.");
  rejectMoreArguments(context);
  const isUrl = text.includes("://");
  const given = Object.keys(isUrl ? FILE_OPTIONS : urlOptions).find(
    (name) => context.flag(name) || context.texts(name).length > 0,
  );
  if (given !== undefined) {
    const other = isUrl ? "a file" : "an address";
    throw new UsageError(`--${given} can only be used with ${other}, but ${text} is not one.`);
  }
  if (isUrl) return { text: readUrl(context), isUrl };
  if (/^[\w.-]+:\d+(?:\/|$)/.test(text) && !existsSync(text)) {
    throw new UsageError(`There is no file ${text}. If it is an address, try http://${text}`);
  }
  return { text, isUrl };
}
