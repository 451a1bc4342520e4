import { AGENT_ENVIRONMENT, refuseText } from "./agent-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { replayPushes } from "./push-admin.ts";
import { SERVER_OPTIONS } from "./server-options.ts";

export const pushReplayCommand: Command = {
  name: "push replay",
  summary: "Try again the push notifications that were given up",
  usage: "<url> [options]",
  examples: [
    "convoke push replay http://127.0.0.1:3000",
    "convoke push replay http://127.0.0.1:3000 --task 0198f3c2",
    "convoke push replay http://127.0.0.1:3000 --task 0198f3c2 --id my-hook",
  ],
  options: {
    task: { type: "string", value: "<id>", help: "Only those of this task" },
    id: { type: "string", value: "<config>", help: "Only those of push configs with this id" },
    ...SERVER_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: pushReplay,
};

async function pushReplay(context: CommandContext): Promise<number> {
  const { io } = context;
  refuseText(context);
  const taskId = context.text("task");
  const id = context.text("id");
  const replayed = await replayPushes(context, {
    ...(taskId !== undefined && { taskId }),
    ...(id !== undefined && { id }),
  });
  const isNarrowed = taskId !== undefined || id !== undefined;
  io.stdout(
    context.flag("json") ? `${JSON.stringify({ replayed })}\n` : `${told(replayed, isNarrowed)}\n`,
  );
  return EXIT.done.code;
}

function told(replayed: number, isNarrowed: boolean): string {
  if (replayed === 1) return "1 push config is tried again.";
  if (replayed > 1) return `${replayed} push configs are tried again.`;
  return isNarrowed ? "Nothing of that was given up." : "Nothing was given up.";
}
