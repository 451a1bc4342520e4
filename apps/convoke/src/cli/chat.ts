import type { ConversationState, RemoteAgent } from "@convoke/client";
import { isInterrupted, isTerminal } from "@convoke/protocol";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  RECONNECT_OPTIONS,
  readReconnect,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { CHAT_ENVIRONMENT, talk } from "../chat/talk.ts";
import type { Command, CommandContext } from "../terminal/command.ts";
import { withAgent } from "../connect/connect-options.ts";

export const chatCommand: Command = {
  name: "chat",
  summary: "Talk to an agent; without a terminal, messages are read from stdin, one per line",
  usage: "<url> [options]",
  examples: [
    "convoke chat http://127.0.0.1:3000",
    "convoke chat http://127.0.0.1:3000 --context 0198f3c2",
    "printf 'ask\\nAnn\\n' | convoke chat http://127.0.0.1:3000",
    "convoke chat http://127.0.0.1:3000 --json < questions.txt | jq -r .text",
  ],
  options: {
    context: { type: "string", value: "<id>", help: "Continue this conversation" },
    task: {
      type: "string",
      value: "<id>",
      help: "Continue this task, for example to answer its question",
    },
    ...RECONNECT_OPTIONS,
    ...AGENT_OPTIONS,
  },
  environment: {
    ...AGENT_ENVIRONMENT,
    ...CHAT_ENVIRONMENT,
  },
  run: chat,
};

async function chat(context: CommandContext): Promise<number> {
  readUrl(context);
  rejectMoreArguments(context);
  readReconnect(context);
  return withAgent(context, async (agent) => {
    const state = await stateAt(context, agent);
    return talk({ agent, context, state });
  });
}

/** The state to continue from, by the options `context` and `task`. */
export async function stateAt(
  { io, text }: CommandContext,
  agent: RemoteAgent,
): Promise<ConversationState> {
  const contextId = text("context");
  const taskId = text("task");
  if (taskId === undefined) return contextId === undefined ? {} : { contextId };
  const task = await agent.get(taskId, { historyLength: 0, signal: io.signal });
  const isOpen = isInterrupted(task.status.state) || !isTerminal(task.status.state);
  return {
    contextId: contextId ?? task.contextId,
    lastTaskId: taskId,
    ...(isOpen && { taskId }),
  };
}
