import type { Project } from "../project/project.ts";
import type { CoderCommand } from "./command.ts";
import { PROJECT_COMMANDS } from "./project-commands.ts";
import { SESSION_COMMANDS } from "./session-commands.ts";
import { UNDO_COMMANDS } from "./undo-commands.ts";
import { userCommands } from "./user-commands.ts";

const BUILT_IN: readonly CoderCommand[] = [
  ...PROJECT_COMMANDS,
  ...UNDO_COMMANDS,
  ...SESSION_COMMANDS,
];

/** All commands of a project. A file cannot replace a built-in one. */
export async function commandsOf(project: Project): Promise<readonly CoderCommand[]> {
  const names = new Set(BUILT_IN.map(({ name }) => name));
  const own = await userCommands(project);
  return [...BUILT_IN, ...own.filter(({ name }) => !names.has(name))];
}
