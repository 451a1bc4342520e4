import { AGENT_OPTIONS, openAgent, urlOf } from "./agent-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { EXIT } from "./exit-code.ts";
import { follow } from "./follow.ts";
import { newestUnfinished } from "./newest-unfinished.ts";
import { UsageError } from "./usage-error.ts";

export const watchCommand: Command = {
  name: "watch",
  summary: "Follow a task until it ends, by default the newest that has not",
  usage: "<url> [task] [options]",
  examples: [
    "convoke watch http://127.0.0.1:3000",
    "convoke watch http://127.0.0.1:3000 0198f3c2",
    "convoke watch http://127.0.0.1:3000 0198f3c2 --json",
  ],
  options: AGENT_OPTIONS,
  run: watch,
};

async function watch(context: CommandContext): Promise<number> {
  const { io } = context;
  urlOf(context);
  const named = taskArgument(context);
  const agent = await openAgent(context);
  const taskId = named ?? (await newestUnfinished(agent, io.signal))?.id;
  if (taskId === undefined) {
    const line = commandLine(context, "tasks", []);
    io.stderr(`You have no unfinished task there. See the others with: ${line}\n`);
    return EXIT.done.code;
  }
  const events = agent.subscribe(taskId, { signal: io.signal });
  return follow({ agent, events, taskId, showHistory: true, staysForAnswers: true }, context);
}

function taskArgument({ positionals }: CommandContext): string | undefined {
  const [, taskId, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`"${more[0]}" is one argument too many.`);
  if (taskId === "") throw new UsageError("The id of the task is empty.");
  return taskId;
}
