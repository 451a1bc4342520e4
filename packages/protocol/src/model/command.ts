import type { Caller } from "./agent.ts";
import type { Metadata } from "./part.ts";

/** A command of an agent, such as `memory show`. */
export interface AgentCommand {
  /** One word. The name of a nested command does not include those of its parents. */
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly CommandArgument[];
  readonly subCommands?: readonly AgentCommand[];
  /**
   * Runs the command. Throw an `A2AError` to reject it; the text of any other error is only logged.
   * Absent if the command only groups others.
   */
  run?(call: CommandCall): CommandResult | Promise<CommandResult>;
}

export interface CommandArgument {
  readonly name: string;
  readonly description: string;
  /** Default false. */
  readonly isRequired?: boolean;
}

/** A call of a command. */
export interface CommandCall {
  readonly args: readonly string[];
  readonly caller: Caller;
  /** The conversation that it is about, if the caller names one. */
  readonly contextId?: string;
}

/** The result of a command: data, or a message that the agent works on as a task of the caller. */
export type CommandResult =
  | { readonly kind: "data"; readonly data: unknown }
  | { readonly kind: "message"; readonly text: string; readonly metadata?: Metadata };
