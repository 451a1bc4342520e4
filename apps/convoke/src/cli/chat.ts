import type { ConversationState, RemoteAgent } from "@convoke/client";
import { isInterrupted, isTerminal } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  RECONNECT_OPTIONS,
  readReconnect,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { completions } from "../chat/chat-commands.ts";
import { Chat } from "../chat/chat.ts";
import type { ChatFace, FaceOptions } from "../chat/face.ts";
import { LineFace, isAtTerminal } from "../chat/line-face.ts";
import { ScreenFace } from "../chat/screen-face.ts";
import { HistoryFile, historyPath } from "../screen/history-file.ts";
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
    XDG_STATE_HOME: "The folder of convoke/chat-history.jsonl, what you typed (~/.local/state)",
    VISUAL: "Your editor, for the arguments of a tool call; otherwise EDITOR",
  },
  run: chat,
};

async function chat(context: CommandContext): Promise<number> {
  readUrl(context);
  rejectMoreArguments(context);
  readReconnect(context);
  return withAgent(context, async (agent) => {
    const state = await stateAt(context, agent);
    const openFace = (options: FaceOptions): ChatFace => faceFor(context, agent, options);
    return new Chat({ agent, context, openFace, state }).talk();
  });
}

const HELP = "Type /help for help. Press Ctrl+D to leave.";

/** A terminal that has control sequences gets the whole interface; everything else gets lines. */
function faceFor(context: CommandContext, agent: RemoteAgent, options: FaceOptions): ChatFace {
  const { io } = context;
  const { keyboard, screen, env } = io;
  const isDumb = env["TERM"] === "dumb";
  const about = `(A2A ${agent.version} over ${agent.binding} at ${oneLine(agent.url)})`;
  if (keyboard === undefined || screen === undefined || !isAtTerminal(context) || isDumb) {
    const face = new LineFace(context);
    if (face.isPerson) face.note(`${agent.name} ${about}\n${HELP}`);
    return face;
  }
  return new ScreenFace({
    ...options,
    io,
    keyboard,
    screen,
    agentName: agent.name,
    about,
    help: HELP,
    commands: completions([]),
    history: new HistoryFile(historyPath(env)),
  });
}

/** The state to continue from. */
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
