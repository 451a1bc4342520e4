import type { ConversationState, RemoteAgent } from "@convoke/client";
import { isInterrupted, isTerminal } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import { AGENT_ENVIRONMENT, AGENT_OPTIONS, refuseText, urlOf } from "./agent-options.ts";
import { Chat } from "./chat/chat.ts";
import type { LineSource } from "./chat/line-source.ts";
import { PipedLines } from "./chat/piped-lines.ts";
import { TerminalLines } from "./chat/terminal-lines.ts";
import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { RECONNECT_OPTIONS, reconnectOf } from "./reconnect-options.ts";
import { withAgent } from "./with-agent.ts";

export const chatCommand: Command = {
  name: "chat",
  summary: "Talk with an agent; without a terminal, line by line from stdin",
  usage: "<url> [options]",
  examples: [
    "convoke chat http://127.0.0.1:3000",
    "convoke chat http://127.0.0.1:3000 --context 0198f3c2",
    "printf 'ask\\nAnn\\n' | convoke chat http://127.0.0.1:3000",
    "convoke chat http://127.0.0.1:3000 --json < questions.txt | jq -r .text",
  ],
  options: {
    context: { type: "string", value: "<id>", help: "Go on with this conversation" },
    task: { type: "string", value: "<id>", help: "Go on with this task, which may wait for you" },
    ...RECONNECT_OPTIONS,
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: chat,
};

async function chat(context: CommandContext): Promise<number> {
  urlOf(context);
  refuseText(context);
  reconnectOf(context);
  return withAgent(context, async (agent) => {
    const state = await stateAt(context, agent);
    const openLines = (interrupt: () => void): LineSource => linesFrom(context, interrupt);
    if (isPerson(context)) greet(context, agent);
    return new Chat({ agent, context, openLines, state }).talk();
  });
}

function isPerson({ io, flag }: CommandContext): boolean {
  return io.keyboard !== undefined && io.screen !== undefined && !flag("json");
}

function linesFrom({ io, flag }: CommandContext, onInterrupt: () => void): LineSource {
  const { keyboard, screen, stdin, env } = io;
  if (keyboard === undefined || screen === undefined || flag("json")) return new PipedLines(stdin);
  return new TerminalLines({ keyboard, screen, isDumb: env["TERM"] === "dumb", onInterrupt });
}

/** Where the conversation goes on. */
async function stateAt(
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

function greet({ io }: CommandContext, agent: RemoteAgent): void {
  const { bold, dim } = coloursFor(io, "stderr");
  const how = `A2A ${agent.version} by ${agent.binding} at ${oneLine(agent.url)}`;
  io.stderr(`${bold(oneLine(agent.name))} ${dim(`(${how})`)}\n`);
  io.stderr(`${dim("/help shows what you can type. Ctrl+D leaves.")}\n`);
}
