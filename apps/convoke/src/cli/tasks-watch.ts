import type { FollowOptions, RemoteAgent } from "@convoke/client";
import { readTaskId, readUrl } from "../connect/agent-options.ts";
import { type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { follow } from "../follow/follow.ts";
import { note } from "../terminal/output.ts";
import { withAgent } from "../connect/connect-options.ts";
import { resolveTaskId } from "../connect/task-id.ts";
import { TASK_STATES, type Task, isTerminal } from "@convoke/protocol";

/** Options of a list, which say nothing about one task. */
const LIST_OPTIONS = ["context", "state", "limit", "history", "owner"] as const;

/** Follows the named task, by default the newest unfinished one, until it ends. */
export async function watchTask(context: CommandContext): Promise<number> {
  const { io } = context;
  readUrl(context);
  const named = readTaskId(context);
  const listed = LIST_OPTIONS.find((option) => context.text(option) !== undefined);
  if (listed !== undefined) throw new UsageError(`--watch cannot be combined with --${listed}.`);
  return withAgent(context, async (agent) => {
    const taskId =
      named === undefined
        ? (await newestUnfinished(agent, io.signal))?.id
        : await resolveTaskId(agent, named, io.signal);
    if (taskId === undefined) {
      const line = commandLine(context, "tasks", []);
      note(context, `You have no unfinished task. List the others with: ${line}`);
      return EXIT.done.code;
    }
    const open = (options: FollowOptions) => agent.subscribe(taskId, options);
    return follow({ open, taskId, showHistory: true, staysForAnswers: true }, context);
  });
}

const OPEN_STATES = TASK_STATES.filter((state) => !isTerminal(state) && state !== "unknown");

/**
 * The most recently changed unfinished task of the caller. One short request for each state finds
 * it even behind any number of finished tasks.
 */
async function newestUnfinished(
  agent: RemoteAgent,
  signal: AbortSignal,
): Promise<Task | undefined> {
  const pages = await Promise.all(
    OPEN_STATES.map((state) => agent.list({ state, pageSize: 1, signal })),
  );
  const open = pages
    .flatMap(({ tasks }) => tasks)
    .filter(({ status }) => !isTerminal(status.state));
  return open.toSorted((left, right) => timeOf(right) - timeOf(left))[0];
}

function timeOf({ status }: Task): number {
  return Date.parse(status.timestamp ?? "") || 0;
}
