import type { PushTarget } from "@convoke/protocol";
import { AGENT_ENVIRONMENT, AGENT_OPTIONS, urlOf } from "./agent-options.ts";
import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { EXIT } from "./exit-code.ts";
import { UsageError } from "./usage-error.ts";
import { withAgent } from "./with-agent.ts";

export const pushSetCommand: Command = {
  name: "push set",
  summary: "Have the updates of a task pushed to a webhook",
  usage: "<url> <task> <webhook> [options]",
  examples: [
    "convoke push set http://127.0.0.1:3000 0198f3c2 https://hooks.example/a2a",
    "convoke push set http://127.0.0.1:3000 0198f3c2 https://hooks.example/a2a --id mine --receipt secret",
  ],
  options: {
    id: {
      type: "string",
      value: "<config>",
      help: "The id of the push config; one that exists is replaced (default: the agent chooses)",
    },
    receipt: {
      type: "string",
      value: "<token>",
      help: "A token that each notification brings back, so that the webhook knows it was asked for",
    },
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: pushSet,
};

async function pushSet(context: CommandContext): Promise<number> {
  const { io } = context;
  urlOf(context);
  const { taskId, target } = readTarget(context);
  const config = await withAgent(context, (agent) =>
    agent.push.set(taskId, target, { signal: io.signal }),
  );
  if (context.flag("json")) {
    io.stdout(`${JSON.stringify(config)}\n`);
    return EXIT.done.code;
  }
  io.stdout(`${config.id}\n`);
  const line = commandLine(context, "push delete", [taskId, config.id]);
  io.stderr(`${coloursFor(io, "stderr").dim(`End it with: ${line}`)}\n`);
  return EXIT.done.code;
}

function readTarget({ positionals, text }: CommandContext): {
  readonly taskId: string;
  readonly target: PushTarget;
} {
  const [, taskId = "", url, ...more] = positionals;
  if (taskId === "") throw new UsageError("The id of the task is missing.");
  if (url === undefined) throw new UsageError("The address of the webhook is missing.");
  if (more.length > 0) throw new UsageError(`"${more[0]}" is one argument too many.`);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`The webhook "${url}" is not an http or https address.`);
  }
  const id = text("id");
  const token = text("receipt");
  return {
    taskId,
    target: { url, ...(id !== undefined && { id }), ...(token !== undefined && { token }) },
  };
}
