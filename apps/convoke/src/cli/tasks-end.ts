import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";

export const tasksEndCommand: Command = {
  name: "tasks end",
  summary: "End unfinished tasks in the data folder of a stopped server",
  usage: "[task-id ...] [options]",
  examples: [
    "convoke tasks end --agent support-desk",
    "convoke tasks end --data /var/lib/my-agent --agent support-desk",
    "convoke tasks end 01998f2e-63bd-7c4a-a1d2-0f3d6e1c7b55 --data /var/lib/my-agent",
  ],
  options: {
    data: {
      type: "string",
      value: "<folder>",
      help: "The data folder (CONVOKE_DATA, or the folder of --agent in .convoke)",
    },
    agent: {
      type: "string",
      value: "<id>",
      help: "End all unfinished tasks of the agent with this id, instead of single tasks",
    },
  },
  environment: { CONVOKE_DATA: "The data folder" },
  more: "The tasks end as failed, with the reason operator. A running server must be stopped first.",
  run: tasksEnd,
};

async function tasksEnd(context: CommandContext): Promise<number> {
  const { io, positionals: taskIds } = context;
  const agentId = context.text("agent");
  if ((taskIds.length === 0) === (agentId === undefined)) {
    throw new UsageError("convoke tasks end needs either task ids or --agent.");
  }
  const { endTasks } = await import("../host/end-tasks.ts");
  const { StartError } = await import("../host/config.ts");
  const data = context.text("data") ?? (io.env["CONVOKE_DATA"] || undefined);
  if (data === undefined && agentId === undefined) {
    throw new UsageError("convoke tasks end with task ids needs --data.");
  }
  try {
    const ended = await endTasks({ data, taskIds, agentId, io });
    for (const { taskId, agent } of ended) io.stdout(`${taskId} ${JSON.stringify(agent)}\n`);
    const count = ended.length === 1 ? "1 task" : `${ended.length} tasks`;
    io.stderr(ended.length === 0 ? "There is no such unfinished task.\n" : `Ended ${count}.\n`);
    return ended.length === 0 ? EXIT.taskFailed.code : EXIT.done.code;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    io.stderr(`${error.message}\n`);
    return EXIT.notStarted.code;
  }
}
