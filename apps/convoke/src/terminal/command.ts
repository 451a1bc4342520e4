import type { ReadStream, WriteStream } from "node:tty";
import type { StdinText } from "./stdin-text.ts";
import type { TaskState } from "@convoke/protocol";

/** What a command may touch of the outside world; tests give their own. */
export interface CommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTTY: { readonly stdout: boolean; readonly stderr: boolean };
  /** What is piped in, or typed where the command edits no lines. */
  readonly stdin: StdinText;
  /** The terminal that a person types at, where standard input is one. */
  readonly keyboard?: ReadStream;
  /** The terminal that a person looks at, where standard output is one. */
  readonly screen?: WriteStream;
  /** Fires when the person wants the command to stop. */
  readonly signal: AbortSignal;
  /** Takes Ctrl+C for itself, until the returned function gives it back; `signal` is still that of SIGTERM. */
  readonly onInterrupt: (interrupted: () => void) => () => void;
}

/** One flag: what `parseArgs` of `node:util` needs, and a line of help. */
export interface CommandOption {
  readonly type: "string" | "boolean";
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: true;
  /** What stands for the value in the help, for example `<id>`. */
  readonly value?: string;
  readonly help: string;
}

/** What was typed, already checked against the command's options. */
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

/** One thing that `convoke` can do. */
export interface Command {
  readonly name: string;
  /** One line for the overview, without a full stop. */
  readonly summary: string;
  /** What follows the command's name: `<url> "text" [options]`. */
  readonly usage: string;
  /** Whole command lines that work as they stand. */
  readonly examples: readonly string[];
  readonly options: Readonly<Record<string, CommandOption>>;
  /** The environment variables that it reads, each with a line of help. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What else its help shows, after the examples. */
  readonly more?: string;
  /** Resolves to the exit code. */
  run(context: CommandContext): Promise<number>;
}

/** Commands that belong together, such as `push list` and `push replay`. */
export interface CommandGroup {
  readonly name: string;
  /** One line for the overview, without a full stop. */
  readonly summary: string;
  /** Each has its whole name: `push list`. */
  readonly commands: readonly Command[];
}

export type LoadCommand = () => Promise<Command | CommandGroup>;

/** Commands by their names, which are those of what is loaded. */
export type CommandTable = ReadonlyMap<string, LoadCommand>;

/** The command line cannot be understood; the message is one sentence that names what is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The person wants to stop; there is nothing to explain. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** What a script learns from a command. The overview prints this table, so it cannot be out of date. */
export const EXIT = {
  done: { code: 0, meaning: "the task completed, or the command did its work" },
  taskFailed: {
    code: 1,
    meaning:
      "the task ended failed, rejected or canceled, a check failed, or a card is not signed as it must be",
  },
  usage: { code: 2, meaning: "the command was used in a wrong way" },
  noAnswer: { code: 3, meaning: "the agent could not be reached or answered with an error" },
  waiting: { code: 4, meaning: "the agent waits for you: input or authorization is required" },
  notStarted: { code: 5, meaning: "the server could not start" },
  interrupted: { code: 130, meaning: "you stopped the command" },
} as const satisfies Record<string, { readonly code: number; readonly meaning: string }>;

/** A task that still works did not fail: whoever asked for an answer now has it. */
export function exitCodeOf(state: TaskState): number {
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
