import { type RemoteAgent, connect } from "@convoke/client";
import { oneLine } from "@convoke/protocol/internal";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { connectOptions } from "../connect/connect-options.ts";
import { startLines, startServer, stopOnSignal } from "../host/run-server.ts";
import type { AgentServer } from "../host/serve-agent.ts";
import { readSettings } from "../host/settings.ts";
import { stateFolder } from "../host/state-folder.ts";
import { type Command, type CommandContext } from "../terminal/command.ts";
import { orNotStarted } from "./serve.ts";

const { json: _, ...CONNECT_OPTIONS } = AGENT_OPTIONS;

export const consoleCommand: Command = {
  name: "console",
  summary: "Open a web console for any A2A agent: its card, a chat, its tasks and a check",
  usage: "<url> [options]",
  examples: [
    "convoke console https://agent.example",
    "convoke console http://127.0.0.1:4000 --port 8080",
    "convoke console https://agent.example --token secret --data memory",
  ],
  options: {
    port: {
      type: "string",
      value: "<number>",
      help: "The port of the console on this machine; 0 picks a free one (0)",
    },
    data: {
      type: "string",
      value: "<folder>",
      help: 'The folder for the history, or "memory" (~/.local/state/convoke/console/…)',
    },
    ...CONNECT_OPTIONS,
  },
  environment: {
    ...AGENT_ENVIRONMENT,
    XDG_STATE_HOME: "The folder of convoke/console (~/.local/state)",
  },
  more: `The console listens on this machine only. It forwards what you say to the agent, and keeps a
log of every task in a folder of its own for each agent.`,
  run: openConsole,
};

/** Serves the console of a remote agent until it is stopped. */
async function openConsole(context: CommandContext): Promise<number> {
  const { io } = context;
  const url = readUrl(context);
  rejectMoreArguments(context);
  const agent = await connect(url, await connectOptions(context));
  try {
    return await orNotStarted(io, async () => {
      const server = await startConsole(agent, context);
      io.stdout(banner(agent, server));
      await stopOnSignal(server, { drainMs: 0 }, io);
    });
  } finally {
    agent.close();
  }
}

/** The settings of servers in the environment are for agents that are served to others. */
async function startConsole(agent: RemoteAgent, context: CommandContext): Promise<AgentServer> {
  const { io, text } = context;
  const { origin, pathname } = new URL(readUrl(context));
  const flags = {
    command: "console",
    files: [readUrl(context)],
    port: text("port") ?? "0",
    data: text("data") ?? stateFolder("console", origin + pathname.replace(/\/$/, ""), io.env),
    started: io.started,
  } as const;
  const settings = { ...readSettings(flags, {}), console: true };
  return startServer({ agent, settings, flags, io });
}

function banner(agent: RemoteAgent, { url, folder }: AgentServer): string {
  const { name, version, binding } = agent;
  const tasks = folder === undefined ? "in memory, lost when it stops" : `in ${folder}`;
  return startLines([
    ["Running", `the console of ${oneLine(name)}, history ${tasks}`],
    ["Agent", `${oneLine(agent.url)} (A2A ${version}, ${binding})`],
    ["Look at", `${url.replace(/\/$/, "")}/console`],
  ]);
}
