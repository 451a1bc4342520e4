import type { Command, CommandGroup, CommandOption } from "./command.ts";
import { EXIT } from "./exit-code.ts";

/** What `convoke help` says. */
export function overview(commands: readonly (Command | CommandGroup)[]): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const);
  const exits = Object.values(EXIT).map(({ code, meaning }) => [String(code), meaning] as const);
  return `convoke hosts, runs and calls A2A agents.

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
export function groupHelp({ name, summary, commands }: CommandGroup): string {
  return `convoke ${name}: ${summary}

Usage: convoke ${name} <command> [options]

Commands
${aligned(commands.map((command) => [command.name, command.summary] as const))}

convoke help ${name} <command> shows the options and examples of a command.
`;
}

/** What `convoke help <command>` says. */
export function commandHelp(command: Command): string {
  const { name, summary, usage, options, environment, examples, more } = command;
  const flags = Object.entries({ ...options, help: HELP_OPTION });
  return `convoke ${name}: ${summary}

Usage: convoke ${name} ${usage}

Options
${aligned(flags.map(([flag, option]) => [spelling(flag, option), option.help] as const))}
${environment === undefined ? "" : `\nEnvironment\n${aligned(Object.entries(environment))}\n`}
Examples
${examples.map((line) => `  ${line}`).join("\n")}
${more === undefined ? "" : `\n${more}\n`}`;
}

const HELP_OPTION: CommandOption = { type: "boolean", short: "h", help: "Show this help" };

function spelling(flag: string, { short, value }: CommandOption): string {
  const names = short === undefined ? `--${flag}` : `-${short}, --${flag}`;
  return value === undefined ? names : `${names} ${value}`;
}

function aligned(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}
