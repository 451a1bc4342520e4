import { AGENT_ENVIRONMENT, AGENT_OPTIONS, urlOf } from "./agent-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { note } from "./note.ts";
import { UsageError } from "./usage-error.ts";
import { withAgent } from "./with-agent.ts";

export const pushDeleteCommand: Command = {
  name: "push delete",
  summary: "End the pushing of a task's updates to a webhook",
  usage: "<url> <task> <config> [options]",
  examples: ["convoke push delete http://127.0.0.1:3000 0198f3c2 mine"],
  options: AGENT_OPTIONS,
  environment: AGENT_ENVIRONMENT,
  run: pushDelete,
};

async function pushDelete(context: CommandContext): Promise<number> {
  urlOf(context);
  const [, taskId = "", id = "", ...more] = context.positionals;
  if (taskId === "") throw new UsageError("The id of the task is missing.");
  if (id === "") {
    throw new UsageError("The id of the push config is missing; convoke push show lists them.");
  }
  if (more.length > 0) throw new UsageError(`"${more[0]}" is one argument too many.`);
  const { signal } = context.io;
  await withAgent(context, (agent) => agent.push.delete(taskId, id, { signal }));
  note(context, `Nothing is pushed by ${id} any more.`);
  return EXIT.done.code;
}
