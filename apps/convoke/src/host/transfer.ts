import { DataFolderError } from "@convoke/backends/sqlite";
import { type CopyOptions, TransferError } from "@convoke/backends/transfer";
import { agentIdFrom } from "@convoke/protocol/internal";
import { readAgentRecords } from "@convoke/runtime/agent-data";
import { type CommandContext, EXIT } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";

/** How often the progress is printed. */
const EVERY_MS = 2000;

/** Stops with the command, and prints how far a copy is on stderr, now and then. */
export function copyOptions(context: CommandContext): CopyOptions {
  let last = performance.now();
  return {
    signal: context.io.signal,
    onProgress(copied) {
      if (performance.now() - last < EVERY_MS) return;
      last = performance.now();
      note(context, `${copied} copied so far …`);
    },
  };
}

/**
 * A database has no record of the names that an agent had. Says which agents need their id in their
 * code, because it is not the one that their name gives.
 */
export function noteAgentIds(context: CommandContext, folder: string): void {
  for (const { id, names } of readAgentRecords(folder)) {
    const name = names.at(-1) ?? id;
    if (agentIdFrom(name) === id) continue;
    note(
      context,
      `The agent ${JSON.stringify(name)} has the id ${JSON.stringify(id)}: set id: ${JSON.stringify(id)} in its code, or it does not find its tasks.`,
    );
  }
}

/** Runs a copy. If it is not possible, the reason is printed. Returns the exit code. */
export async function orNotPossible(
  context: CommandContext,
  run: () => Promise<void>,
): Promise<number> {
  try {
    await run();
    return EXIT.done.code;
  } catch (error) {
    const isExplained =
      error instanceof TransferError ||
      error instanceof DataFolderError ||
      (error instanceof Error && error.name === "DatabaseError");
    if (!isExplained) throw error;
    note(context, error.message);
    return EXIT.notStarted.code;
  }
}

export function tasksText(count: number): string {
  return count === 1 ? "1 task" : `${count} tasks`;
}
