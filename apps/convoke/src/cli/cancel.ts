import { AGENT_ENVIRONMENT, AGENT_OPTIONS, readTaskId, readUrl } from "../connect/agent-options.ts";
import { coloursFor } from "../terminal/output.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { toOutcome } from "../follow/outcome.ts";
import { oneLine, printableJson } from "@convoke/protocol/internal";
import { withAgent } from "../connect/connect-options.ts";
import { resolveTaskId } from "../connect/task-id.ts";

export const cancelCommand: Command = {
  name: "cancel",
  summary: "Ask an agent to stop working on a task",
  usage: "<url> <task> [options]",
  examples: [
    "convoke cancel http://127.0.0.1:3000 0198f3c2",
    "convoke cancel http://127.0.0.1:3000 0198f3c2 --json | jq .status.state",
  ],
  options: AGENT_OPTIONS,
  environment: AGENT_ENVIRONMENT,
  run: cancel,
};

async function cancel(context: CommandContext): Promise<number> {
  const { io } = context;
  readUrl(context);
  const taskId = readTaskId(context);
  if (taskId === undefined) {
    throw new UsageError("The task id is missing; convoke tasks <url> lists your tasks.");
  }
  const task = await withAgent(context, async (agent) => {
    const id = await resolveTaskId(agent, taskId, io.signal);
    return agent.cancel(id, { signal: io.signal });
  });
  if (context.flag("json")) {
    io.stdout(`${printableJson(task)}\n`);
    return EXIT.done.code;
  }
  const { state, said } = toOutcome(task);
  const words = said === "" ? "" : `: ${oneLine(said)}`;
  io.stderr(`${coloursFor(io, "stderr").dim(`task ${oneLine(task.id)} ${state}${words}`)}\n`);
  return EXIT.done.code;
}
