import { type PushConfig } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import { AGENT_ENVIRONMENT, AGENT_OPTIONS, taskArgument, urlOf } from "./agent-options.ts";
import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { table } from "./table.ts";
import { UsageError } from "./usage-error.ts";
import { withAgent } from "./with-agent.ts";

export const pushShowCommand: Command = {
  name: "push show",
  summary: "Show where the updates of a task are pushed to",
  usage: "<url> <task> [options]",
  examples: [
    "convoke push show http://127.0.0.1:3000 0198f3c2",
    "convoke push show http://127.0.0.1:3000 0198f3c2 --json | jq '.configs[].url'",
  ],
  options: AGENT_OPTIONS,
  environment: AGENT_ENVIRONMENT,
  run: pushShow,
};

async function pushShow(context: CommandContext): Promise<number> {
  const { io } = context;
  urlOf(context);
  const taskId = taskArgument(context);
  if (taskId === undefined) throw new UsageError("The id of the task is missing.");
  const configs = await withAgent(context, (agent) =>
    agent.push.list(taskId, { signal: io.signal }),
  );
  if (context.flag("json")) io.stdout(`${JSON.stringify({ configs })}\n`);
  else if (configs.length > 0) io.stdout(configTable(configs, context));
  else io.stderr(`${coloursFor(io, "stderr").dim("Its updates are pushed nowhere.")}\n`);
  return EXIT.done.code;
}

function configTable(configs: readonly PushConfig[], { io }: CommandContext): string {
  const rows = configs.map(({ id, url }) => [oneLine(id), oneLine(url)]);
  return table(["CONFIG", "WEBHOOK"], rows, coloursFor(io, "stdout"));
}
