import type { EventStream, RemoteAgent } from "@convoke/client";
import {
  AGENT_OPTIONS,
  MESSAGE_OPTIONS,
  openAgent,
  refuseText,
  textArgument,
  urlOf,
} from "./agent-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { follow } from "./follow.ts";
import { UsageError } from "./usage-error.ts";

export const streamCommand: Command = {
  name: "stream",
  summary: "Say something to an agent and see its answer as it comes",
  usage: '<url> "text" [options]   or   <url> --resume <task> [--after <event>] [options]',
  examples: [
    'convoke stream http://127.0.0.1:3000 "slow 20"',
    "convoke stream http://127.0.0.1:3000 --resume 0198f3c2 --after 7",
    'convoke stream http://127.0.0.1:3000 "Hello" --json',
  ],
  options: {
    ...MESSAGE_OPTIONS,
    resume: {
      type: "string",
      value: "<task>",
      help: "Follow this task instead of saying something",
    },
    after: { type: "string", value: "<event>", help: "With --resume: go on after this event" },
    ...AGENT_OPTIONS,
  },
  run: stream,
};

async function stream(context: CommandContext): Promise<number> {
  const open = readRequest(context);
  const agent = await openAgent(context);
  return follow(
    {
      agent,
      events: open(agent),
      taskId: context.text("resume"),
      skipEarlier: context.text("task") !== undefined,
    },
    context,
  );
}

/** What to ask of the agent; everything that was typed is checked before it is called. */
function readRequest(context: CommandContext): (agent: RemoteAgent) => EventStream {
  const { text, io } = context;
  urlOf(context);
  const taskId = text("resume");
  const lastEventId = text("after");
  const { signal } = io;
  if (taskId === undefined) {
    if (lastEventId !== undefined) throw new UsageError("--after needs --resume <task>.");
    const input = textArgument(context);
    const options = { contextId: text("context"), taskId: text("task"), signal };
    return (agent) => agent.stream(input, options);
  }
  refuseText(context);
  if (text("task") !== undefined || text("context") !== undefined) {
    throw new UsageError("--resume says nothing, so it takes neither --task nor --context.");
  }
  return (agent) => agent.subscribe(taskId, { lastEventId, signal });
}
