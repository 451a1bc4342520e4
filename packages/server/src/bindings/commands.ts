import {
  A2AError,
  type AgentCommand,
  type Caller,
  type CommandResult,
  invalidParams,
} from "@convoke/protocol";
import type { App } from "./app.ts";

/** A command and its nested commands, without what runs them. */
export interface CommandSummary {
  readonly name: string;
  readonly description: string;
  readonly arguments: NonNullable<AgentCommand["arguments"]>;
  readonly subCommands: readonly CommandSummary[];
}

/** The commands of the agent. */
export async function listCommands({ agent }: App): Promise<readonly CommandSummary[]> {
  return summarize((await agent.definition.commands?.()) ?? [], []);
}

/** A command that contains itself is listed once. */
function summarize(
  commands: readonly AgentCommand[],
  parents: readonly AgentCommand[],
): readonly CommandSummary[] {
  return commands
    .filter((command) => !parents.includes(command))
    .map((command) => ({
      name: command.name,
      description: command.description,
      arguments: command.arguments ?? [],
      subCommands: summarize(command.subCommands ?? [], [...parents, command]),
    }));
}

/** A command as the caller names it. */
export interface CommandRequest {
  /** Its name and those of its parents; words that name no nested command are arguments. */
  readonly path: readonly string[];
  readonly args: readonly string[];
  /** The conversation that the command is about. */
  readonly contextId?: string | undefined;
  /** The paths of both in the request, for errors. */
  readonly fields: { readonly path: string; readonly args: string };
}

/** The result of a command, and the whole name of the command that ran. */
export interface CommandRun {
  readonly name: string;
  readonly result: CommandResult;
}

/** Runs a command for a caller. A command may start a task, so the caller needs the right to do that. */
export async function runCommand(
  app: App,
  request: CommandRequest,
  caller: Caller,
): Promise<CommandRun> {
  const { path, args, contextId } = request;
  // As a message that names no skill, so that the scopes of an only skill apply.
  await app.authorization.check(caller, "sendMessage", { message: { metadata: {} }, path, args });
  const commands = (await app.agent.definition.commands?.()) ?? [];
  const { command, words } = findCommand(commands, request);
  const name = path.slice(0, words).join(" ");
  const given = [...path.slice(words), ...args];
  const missing = command.arguments?.filter(({ isRequired }) => isRequired === true)[given.length];
  if (missing !== undefined) {
    throw invalidParams(request.fields.args, `must have ${missing.name}: ${missing.description}`);
  }
  if (command.run === undefined) {
    const names = (command.subCommands ?? []).map((one) => one.name).join(", ");
    throw invalidParams(request.fields.path, `must name one of ${names} after ${name}`);
  }
  const call = { args: given, caller, ...(contextId !== undefined && { contextId }) };
  return { name, result: await command.run(call) };
}

/** The deepest command that the path names, and how many words name it. */
function findCommand(
  commands: readonly AgentCommand[],
  { path }: CommandRequest,
): { readonly command: AgentCommand; readonly words: number } {
  let found: AgentCommand | undefined;
  let words = 0;
  for (const word of path) {
    const next = (found?.subCommands ?? (words === 0 ? commands : [])).find(
      ({ name }) => name === word,
    );
    if (next === undefined) break;
    found = next;
    words += 1;
  }
  if (found !== undefined) return { command: found, words };
  const given = JSON.stringify(path.join(" "));
  throw new A2AError("MethodNotFound", `there is no command ${given}`, {
    details: { command: path.join(" ") },
  });
}
