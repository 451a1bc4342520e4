import type { RemoteAgent } from "@convoke/client";
import { oneLine } from "@convoke/protocol/internal";
import { HistoryFile, historyPath } from "../screen/history-file.ts";
import type { CommandContext } from "../terminal/command.ts";
import { type AgentCommand, completions } from "./chat-commands.ts";
import { Chat, type ChatOptions } from "./chat.ts";
import type { ChatFace, FaceOptions } from "./face.ts";
import { LineFace, isAtTerminal } from "./line-face.ts";
import { ScreenFace } from "./screen-face.ts";

/** Environment variables of the commands that chat. */
export const CHAT_ENVIRONMENT: Readonly<Record<string, string>> = {
  XDG_STATE_HOME: "The folder of convoke/chat-history.jsonl, what you typed (~/.local/state)",
  VISUAL: "Your editor, for the arguments of a tool call; otherwise EDITOR",
};

/** Talks to an agent at the terminal, or in lines, until the input ends. Returns the exit code. */
export async function talk(options: Omit<ChatOptions, "openFace">): Promise<number> {
  const { context, agent, commands = [] } = options;
  const openFace = (face: FaceOptions): ChatFace => faceFor(context, agent, commands, face);
  return new Chat({ ...options, openFace }).talk();
}

const HELP = "Type /help for help. Press Ctrl+D to leave.";

/** A terminal that has control sequences gets the whole interface; everything else gets lines. */
function faceFor(
  context: CommandContext,
  agent: RemoteAgent,
  commands: readonly AgentCommand[],
  options: FaceOptions,
): ChatFace {
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
    commands: completions(commands),
    history: new HistoryFile(historyPath(env)),
  });
}
