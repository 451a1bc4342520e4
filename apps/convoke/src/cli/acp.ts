import { statSync } from "node:fs";
import { parse } from "node:path";
import type { AcpTargetRequest } from "../acp/run-acp.ts";
import { AGENT_ENVIRONMENT, AGENT_OPTIONS, rejectMoreArguments } from "../connect/agent-options.ts";
import { askServer } from "../connect/ask-server.ts";
import { FILE_ENVIRONMENT, FILE_OPTIONS, readTarget } from "../connect/agent-target.ts";
import { connectOptions } from "../connect/connect-options.ts";
import { type Command, type CommandContext, UsageError } from "../terminal/command.ts";
import { asStarted } from "../terminal/invocation.ts";
import { CODER_OPTIONS, openCoder } from "./code.ts";
import { orNotStarted } from "./serve.ts";

// Standard input and output carry the protocol, so there are no password prompts and no --json.
const { basic: _basic, json: _json, ...URL_OPTIONS } = AGENT_OPTIONS;

export const acpCommand: Command = {
  name: "acp",
  summary: "Use an agent in an editor that speaks the Agent Client Protocol",
  usage: "[folder | url | file] [options]",
  examples: [
    "convoke acp",
    "convoke acp ~/project --model anthropic:claude-sonnet-4-5",
    "convoke acp http://127.0.0.1:3000",
    "convoke acp https://agent.example --token secret",
    "convoke acp agent.ts --data /var/lib/my-agent",
  ],
  options: {
    "ignore-mcp": {
      type: "boolean",
      help: "Ignore the MCP servers of the editor instead of using them or rejecting its sessions",
    },
    ...CODER_OPTIONS,
    ...FILE_OPTIONS,
    ...URL_OPTIONS,
  },
  environment: {
    ...AGENT_ENVIRONMENT,
    ...FILE_ENVIRONMENT,
    CODER_AGENT_MODEL: "With a folder: the model (demo)",
  },
  more: `In the settings of Zed

  {
    "agent_servers": {
      "My agent": {
        "type": "custom",
        "command": "npx",
        "args": ["convoke", "acp"]
      }
    }
  }

Without an argument, it is the coding agent, and each session works in the folder that the editor
opens.`,
  run: acp,
};

/** How long work that the agent left running may continue after the end. */
const LEAVE_MS = 1000;

/** Serves until the editor disconnects. */
async function acp(context: CommandContext): Promise<number> {
  const { io } = context;
  const readRequest = targetReader(context);
  if (io.keyboard !== undefined) io.stderr(asStarted(TERMINAL_HINT, io.started));
  // Loaded on demand, so that other commands start faster.
  const { runAcp } = await import("../acp/run-acp.ts");
  try {
    return await orNotStarted(io, async () => {
      const target = await readRequest();
      await runAcp({ io, ignoresMcp: context.flag("ignore-mcp"), ...target });
    });
  } finally {
    // The editor is gone: do not wait for an agent that keeps running.
    setTimeout(() => process.exit(), LEAVE_MS).unref();
  }
}

/** Checks the command line. The returned function makes what it describes. */
function targetReader(context: CommandContext): () => Promise<AcpTargetRequest> {
  const [argument] = context.positionals;
  const isFolder = argument === undefined || isDirectory(argument);
  const given = Object.keys(isFolder ? URL_OPTIONS : CODER_OPTIONS).find(
    (name) => context.flag(name) || context.texts(name).length > 0,
  );
  if (given !== undefined) {
    const other = isFolder ? "an address" : "a folder";
    throw new UsageError(
      `--${given} can only be used with ${other}, but ${argument ?? "."} is not one.`,
    );
  }
  if (isFolder) {
    rejectMoreArguments(context);
    return async () => {
      // The editor is the only caller. Without a folder it says for each session where to work.
      const roots = argument === undefined ? [parse(process.cwd()).root] : [];
      return openCoder(context, { isForUser: true, roots });
    };
  }
  const { text, isUrl } = readTarget(context, URL_OPTIONS);
  if (!isUrl) return async () => ({ agent: text, data: context.text("data") });
  const ask = (path: string, body?: object) =>
    askServer(context, { path, about: "commands", ...(body && { body }) });
  return async () => ({ url: text, connecting: await connectOptions(context), ask });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** A person who starts it in a terminal sees nothing else: the protocol is for programs. */
const TERMINAL_HINT = `This is an agent for editors: it waits for one that speaks the Agent Client Protocol on standard
input. The settings of your editor say how it is started; convoke acp --help has an example. To talk to
an agent yourself, use convoke code or convoke chat <url>. Press Ctrl+C to stop.
`;
