import type { ReadStream, WriteStream } from "node:tty";
import type { Invocation } from "./invocation.ts";
import type { StdinText } from "./stdin-text.ts";
import type { TaskState } from "@convoke/protocol";

/** A command's access to the outside world. Tests pass their own. */
export interface CommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How the program was started, for command lines that are printed. */
  readonly started: Invocation;
  readonly isTTY: { readonly stdout: boolean; readonly stderr: boolean };
  /** Standard input as text. */
  readonly stdin: StdinText;
  /** The terminal for input, if standard input is one. */
  readonly keyboard?: ReadStream;
  /** The terminal for output, if standard output is one. */
  readonly screen?: WriteStream;
  /** Aborts when the user stops the command. */
  readonly signal: AbortSignal;
  /** Handles Ctrl+C until the returned function is called. SIGTERM still aborts `signal`. */
  readonly onInterrupt: (interrupted: () => void) => () => void;
}

/** One flag: the configuration for `parseArgs` of `node:util`, and a line of help. */
export interface CommandOption {
  readonly type: "string" | "boolean";
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: true;
  /** The placeholder for the value in the help, for example `<id>`. */
  readonly value?: string;
  /** Common or all values, which the shell offers. The command itself checks the value. */
  readonly choices?: readonly string[];
  readonly help: string;
}

/** The parsed command line, checked against the options of the command. */
export interface CommandContext {
  readonly io: CommandIo;
  readonly positionals: readonly string[];
  /** The value of a string option, if it was given. */
  readonly text: (option: string) => string | undefined;
  /** Every value of a string option that may be given several times. */
  readonly texts: (option: string) => readonly string[];
  /** Whether a boolean option was given. */
  readonly flag: (option: string) => boolean;
}

/** A command of `convoke`. */
export interface Command {
  readonly name: string;
  /** One line for the overview, without a full stop. */
  readonly summary: string;
  /** What follows the command's name: `<url> "text" [options]`. */
  readonly usage: string;
  /** Complete command lines that work as they are. */
  readonly examples: readonly string[];
  readonly options: Readonly<Record<string, CommandOption>>;
  /** The environment variables that it reads, each with a line of help. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Commands below this one, each with its full name: `tasks end`. */
  readonly subcommands?: readonly Command[];
  /** Additional text in the help, after the examples. */
  readonly more?: string;
  /** Resolves to the exit code. */
  run(context: CommandContext): Promise<number>;
}

/** A group of commands, such as `push list` and `push replay`. */
export interface CommandGroup {
  readonly name: string;
  /** One line for the overview, without a full stop. */
  readonly summary: string;
  /** Each with its full name: `push list`. */
  readonly commands: readonly Command[];
}

export type LoadCommand = () => Promise<Command | CommandGroup>;

/** Commands by name. */
export type CommandTable = ReadonlyMap<string, LoadCommand>;

/** The command line is invalid. The message is one sentence that names the problem. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The user stopped the command; no error is printed. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** The exit codes. The overview prints this table. */
export const EXIT = {
  done: { code: 0, meaning: "success: the task completed, or the command succeeded" },
  taskFailed: {
    code: 1,
    meaning:
      "the task failed, was rejected or canceled, a check failed, or a signature is not valid",
  },
  usage: { code: 2, meaning: "the command line is invalid" },
  noAnswer: {
    code: 3,
    meaning: "the agent or database could not be reached, or answered with an error",
  },
  waiting: { code: 4, meaning: "the agent is waiting for input or authorization" },
  notStarted: {
    code: 5,
    meaning: "the server cannot start until a setting or its data is changed",
  },
  notStartedNow: {
    code: 6,
    meaning:
      "the server could not start for a reason that may pass: a port or folder in use, a database that does not answer, a full disk",
  },
  interrupted: { code: 130, meaning: "you stopped the command" },
} as const satisfies Record<string, { readonly code: number; readonly meaning: string }>;

/** The exit code for a task in that state. A task in progress did not fail. */
export function exitCodeFor(state: TaskState): number {
  switch (state) {
    case "failed":
    case "rejected":
    case "canceled":
      return EXIT.taskFailed.code;
    case "input-required":
    case "auth-required":
      return EXIT.waiting.code;
    default:
      return EXIT.done.code;
  }
}
