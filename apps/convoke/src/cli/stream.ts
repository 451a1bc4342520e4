import type { FollowOptions, RemoteAgent, Run } from "@convoke/client";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  MESSAGE_OPTIONS,
  RECONNECT_OPTIONS,
  readRequest,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { type Command, type CommandContext, UsageError } from "../terminal/command.ts";
import { connectOptions, withAgent } from "../connect/connect-options.ts";
import { resolveTaskId } from "../connect/task-id.ts";
import { follow } from "../follow/follow.ts";
import { INPUT_OPTIONS, readInput } from "../connect/read-input.ts";

export const streamCommand: Command = {
  name: "stream",
  summary: "Send a message to an agent and print its answer as it arrives",
  usage: '<url> ["text" | -] [options]   or   <url> --resume <task> [--after <event>] [options]',
  examples: [
    'convoke stream http://127.0.0.1:3000 "slow 20"',
    "convoke stream http://127.0.0.1:3000 --resume 0198f3c2 --after 7",
    'convoke stream http://127.0.0.1:3000 "Hello" --json',
  ],
  options: {
    ...INPUT_OPTIONS,
    ...MESSAGE_OPTIONS,
    resume: {
      type: "string",
      value: "<task>",
      help: "Follow this task instead of sending a message",
    },
    after: { type: "string", value: "<event>", help: "With --resume: continue after this event" },
    ...RECONNECT_OPTIONS,
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: stream,
};

/** `taskId` is the task to resume or to answer. */
type Open = (agent: RemoteAgent, taskId: string | undefined, options: FollowOptions) => Run;

async function stream(context: CommandContext): Promise<number> {
  readUrl(context);
  const resumed = readResume(context);
  const options = await connectOptions(context);
  const open = resumed ?? (await readMessage(context));
  const named = context.text("resume") ?? context.text("task");
  return withAgent(
    context,
    async (agent) => {
      const { signal } = context.io;
      const taskId = named === undefined ? named : await resolveTaskId(agent, named, signal);
      const isResumed = resumed !== undefined;
      const followed = {
        taskId: isResumed ? taskId : undefined,
        skipEarlier: !isResumed && named !== undefined,
      };
      return follow({ open: (more) => open(agent, taskId, more), ...followed }, context);
    },
    options,
  );
}

/** Validates the options before the agent is called. */
function readResume(context: CommandContext): Open | undefined {
  const { text, texts } = context;
  const taskId = text("resume");
  const lastEventId = text("after");
  if (taskId === undefined) {
    if (lastEventId === undefined) return undefined;
    throw new UsageError("--after needs --resume <task>.");
  }
  rejectMoreArguments(context);
  if (text("task") !== undefined || text("context") !== undefined) {
    throw new UsageError("--resume cannot be combined with --task or --context.");
  }
  for (const option of ["metadata", "accept", "history"]) {
    if (text(option) === undefined) continue;
    throw new UsageError(`--resume sends no message, so it cannot be combined with --${option}.`);
  }
  if (texts("file").length > 0 || texts("data").length > 0) {
    throw new UsageError("--resume cannot be combined with --file or --data.");
  }
  return (agent, resolved = taskId, options) =>
    agent.subscribe(resolved, { lastEventId, ...options });
}

async function readMessage(context: CommandContext): Promise<Open> {
  const request = readRequest(context);
  const input = await readInput(context);
  const contextId = context.text("context");
  return (agent, taskId, options) =>
    agent.stream(input, { contextId, taskId, ...request, ...options });
}
