import type { FollowOptions } from "@convoke/client";
import { AGENT_ENVIRONMENT, AGENT_OPTIONS, taskArgument, urlOf } from "./agent-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { EXIT } from "./exit-code.ts";
import { follow } from "./follow.ts";
import { note } from "./note.ts";
import { newestUnfinished } from "./newest-unfinished.ts";
import { RECONNECT_OPTIONS } from "./reconnect-options.ts";
import { withAgent } from "./with-agent.ts";

export const watchCommand: Command = {
  name: "watch",
  summary: "Follow a task until it ends, by default the newest that has not",
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
  urlOf(context);
  const named = taskArgument(context);
  return withAgent(context, async (agent) => {
    const taskId = named ?? (await newestUnfinished(agent, io.signal))?.id;
    if (taskId === undefined) {
      const line = commandLine(context, "tasks", []);
      note(context, `You have no unfinished task there. See the others with: ${line}`);
      return EXIT.done.code;
    }
    const open = (options: FollowOptions) => agent.subscribe(taskId, options);
    return follow({ open, taskId, showHistory: true, staysForAnswers: true }, context);
  });
}
