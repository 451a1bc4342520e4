import type { FollowOptions, RemoteAgent } from "@convoke/client";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  RECONNECT_OPTIONS,
  readTaskId,
  readUrl,
} from "../connect/agent-options.ts";
import { type Command, type CommandContext, EXIT } from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { follow } from "../follow/follow.ts";
import { note } from "../terminal/output.ts";
import { withAgent } from "../connect/connect-options.ts";
import { resolveTaskId } from "../connect/task-id.ts";
import { TASK_STATES, type Task, isTerminal } from "@convoke/protocol";

export const watchCommand: Command = {
  name: "watch",
  summary: "Follow a task until it ends, by default the newest unfinished one",
  usage: "<url> [task] [options]",
  examples: [
    "convoke watch http://127.0.0.1:3000",
    "convoke watch http://127.0.0.1:3000 0198f3c2",
    "convoke watch http://127.0.0.1:3000 0198f3c2 --json",
  ],
  options: {
    reconnect: RECONNECT_OPTIONS.reconnect,
    "no-reconnect": RECONNECT_OPTIONS["no-reconnect"],
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: watch,
};

async function watch(context: CommandContext): Promise<number> {
  const { io } = context;
  readUrl(context);
  const named = readTaskId(context);
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
