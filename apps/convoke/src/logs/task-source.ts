import { type JsonObject, oneLine } from "@convoke/protocol/internal";
import { type CommandContext, type CommandOption, UsageError } from "../terminal/command.ts";

/** An event of a log: `{ from?, seq, at?, event }`, as the read API of a server shows it. */
export type LogItem = JsonObject;

/** Which events of a log are read, and in which form. */
export interface LogRequest {
  readonly after?: number;
  /** Whether to include the notes of the agent. `undefined`: if they may be read. */
  readonly notes: boolean | undefined;
  readonly joinsChunks: boolean;
}

/** A task and its log. */
export interface LoggedTask {
  /** Its ids, owner, agent, state and last position. */
  readonly about: JsonObject;
  /** Read page by page. */
  readonly events: AsyncIterable<LogItem>;
}

/** Where tasks are read from: a server, or a data folder. */
export interface TaskSource {
  /** The id of the task that the user means: a whole id, or the beginning of one. */
  find(given: string): Promise<string>;
  /** The ids of all tasks. */
  ids(): AsyncIterable<string>;
  open(taskId: string, request: LogRequest): Promise<LoggedTask>;
  close(): Promise<void>;
}

/** How many tasks with the same beginning are looked at. */
export const MOST_FOUND = 6;

/** Of the tasks whose id begins as given, the one that is meant. An unknown id is returned as it is. */
export function chooseTask(given: string, found: readonly string[]): string {
  if (found.includes(given)) return given;
  if (found.length <= 1) return found[0] ?? given;
  const shown = found.slice(0, MOST_FOUND - 1).map((id) => oneLine(id));
  const more = found.length === MOST_FOUND ? " and more" : "";
  throw new UsageError(`"${given}" is the beginning of several tasks: ${shown.join(", ")}${more}.`);
}

/** The flags for the notes of a log. */
export const NOTES_OPTIONS = {
  notes: {
    type: "boolean",
    help: "With the notes of the agent, which are for operators (default: if your role allows it)",
  },
  "no-notes": { type: "boolean", help: "Without them: only what A2A shows" },
} as const satisfies Record<string, CommandOption>;

export function readNotes({ flag }: CommandContext): boolean | undefined {
  if (flag("notes") && flag("no-notes")) {
    throw new UsageError("--notes and --no-notes cannot be combined.");
  }
  if (flag("notes")) return true;
  return flag("no-notes") ? false : undefined;
}
