import type {
  AgentCommand,
  Caller,
  CommandArgument,
  InternalEvent,
  Message,
} from "@convoke/protocol";
import type { Project } from "../project/project.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { CompactedEvent } from "../sessions/summarize.ts";

/** What a command works on. */
export interface CommandScope {
  readonly caller: Caller;
  readonly project: Project;
  readonly sessions: Sessions;
  /** The session of the caller. Absent if the command was not sent in a conversation. */
  readonly session?: Session;
  /** The earlier messages of the conversation. */
  readonly conversation: readonly Message[];
  /** All commands, for `help`. */
  readonly commands: readonly CoderCommand[];
  /** The names of the models that a conversation can choose from; the first is the default. */
  readonly models: readonly string[];
  /** The size of the model's context in tokens, if it is known. */
  readonly contextSize: () => Promise<number | undefined>;
  /** The state of each MCP server. */
  readonly mcpServers: () => readonly { readonly name: string; readonly status: string }[];
  /** Asks the model for a summary of messages. */
  readonly summarize: (messages: readonly Message[]) => Promise<CompactedEvent>;
  /** Writes an event to the log of the task. */
  readonly record: (event: Omit<InternalEvent, "taskId">) => void;
  /** An id for something new, which a repetition after a crash gets again. */
  readonly newId: () => string;
}

/** What a command gives: an answer, or a message for the model. */
export type CommandOutcome =
  | { readonly kind: "answer"; readonly text: string; readonly data?: unknown }
  | { readonly kind: "prompt"; readonly text: string };

export interface CoderCommand {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly CommandArgument[];
  readonly subCommands?: readonly CoderCommand[];
  /** It changes something, so it runs as a task, whose log says what it did. */
  readonly isTask?: boolean;
  run?(args: readonly string[], scope: CommandScope): CommandOutcome | Promise<CommandOutcome>;
}

/** A command with the words that follow its name. */
export interface CommandLine {
  readonly command: CoderCommand;
  /** Its name with those of its parents. */
  readonly name: string;
  readonly args: readonly string[];
}

/** The command that a message is, such as `/restore list`; undefined for any other message. */
export function parseCommandLine(
  text: string,
  commands: readonly CoderCommand[],
): CommandLine | undefined {
  if (!text.startsWith("/")) return undefined;
  const words = text.slice(1).trim().split(/\s+/);
  let found: CoderCommand | undefined;
  let depth = 0;
  for (const word of words) {
    const next = (depth === 0 ? commands : (found?.subCommands ?? [])).find(
      ({ name }) => name === word,
    );
    if (next === undefined) break;
    found = next;
    depth += 1;
  }
  if (found?.run === undefined) return undefined;
  return { command: found, name: words.slice(0, depth).join(" "), args: words.slice(depth) };
}

/** The commands as callers list and run them. `run` gets those that change nothing. */
export function agentCommands(
  commands: readonly CoderCommand[],
  run: (
    line: CommandLine,
    call: { readonly caller: Caller; readonly contextId?: string },
  ) => Promise<CommandOutcome>,
  parents: readonly string[] = [],
): readonly AgentCommand[] {
  return commands.map((command) => {
    const { name: own, description, isTask = false, subCommands } = command;
    const path = [...parents, own];
    const name = path.join(" ");
    return {
      name: own,
      description,
      ...(command.arguments && { arguments: command.arguments }),
      ...(subCommands && { subCommands: agentCommands(subCommands, run, path) }),
      ...(command.run && {
        run: async (call) => {
          const { args } = call;
          const text = `/${[name, ...args].join(" ")}`;
          if (isTask) return { kind: "message", text };
          const outcome = await run({ command, name, args }, call);
          if (outcome.kind === "prompt") return { kind: "message", text };
          return { kind: "data", data: outcome.data ?? outcome.text };
        },
      }),
    } satisfies AgentCommand;
  });
}

export function answer(text: string, data?: unknown): CommandOutcome {
  return { kind: "answer", text, ...(data !== undefined && { data }) };
}
