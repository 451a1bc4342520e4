import type { RemoteAgent } from "@convoke/client";
import { ERRORS, RemoteError } from "@convoke/protocol";
import { type PageRequest, oneLine, readPages } from "@convoke/protocol/internal";
import { UsageError } from "../terminal/command.ts";

/** A shorter beginning of an id is probably a typo, or the whole id of another agent's task. */
const SHORTEST = 6;

/** How many tasks are searched, newest first. */
const MOST_PAGES = 10;

const MOST_SHOWN = 5;

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * The id of the task that the user means: a whole id, or the beginning of one if it is unique among
 * the user's tasks. If no task matches, the id is returned as it is, so that the agent rejects it.
 */
export async function resolveTaskId(
  agent: RemoteAgent,
  given: string,
  signal: AbortSignal,
): Promise<string> {
  if (given.length < SHORTEST || UUID.test(given) || (await exists(agent, given, signal))) {
    return given;
  }
  const found = await tasksStartingWith(agent, given, signal);
  if (found.length <= 1) return found[0] ?? given;
  const shown = found.slice(0, MOST_SHOWN).map((id) => oneLine(id));
  const more = found.length > MOST_SHOWN ? ` and ${found.length - MOST_SHOWN} more` : "";
  throw new UsageError(
    `"${given}" is the beginning of ${found.length} tasks: ${shown.join(", ")}${more}.`,
  );
}

/** True unless the agent says that there is no such task; other errors are reported by the command itself. */
async function exists(agent: RemoteAgent, taskId: string, signal: AbortSignal): Promise<boolean> {
  try {
    await agent.get(taskId, { historyLength: 0, signal });
    return true;
  } catch (error) {
    return !(error instanceof RemoteError && error.code === ERRORS.TaskNotFound.code);
  }
}

async function tasksStartingWith(
  agent: RemoteAgent,
  start: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found: string[] = [];
  const read = (page: PageRequest) =>
    // Agents of 0.3 cannot list tasks; then only whole ids are accepted.
    agent
      .list({ pageSize: 100, historyLength: 0, signal, ...page })
      .catch(() => ({ tasks: [], nextPageToken: "" }));
  for await (const { tasks } of readPages(read, { maxPages: MOST_PAGES })) {
    found.push(...tasks.map(({ id }) => id).filter((id) => id.startsWith(start)));
  }
  return found;
}
