import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  RECONNECT_OPTIONS,
  readReconnect,
} from "../connect/agent-options.ts";
import { type Command, type CommandContext } from "../terminal/command.ts";
import { FILE_ENVIRONMENT, FILE_OPTIONS, readTarget } from "../connect/agent-target.ts";
import { connectOptions } from "../connect/connect-options.ts";
import { quoted } from "../terminal/command-line.ts";
import { asStarted } from "../terminal/invocation.ts";
import { orNotStarted } from "./serve.ts";

// Standard input and output carry the MCP protocol, so there are no password prompts and no --json.
const { basic: _basic, json: _json, ...CALL_OPTIONS } = AGENT_OPTIONS;

const URL_OPTIONS = { ...RECONNECT_OPTIONS, ...CALL_OPTIONS };

export const mcpCommand: Command = {
  name: "mcp",
  summary: "Offer the skills of an agent as MCP tools, for editors and other hosts",
  usage: "<url | file> [options]",
  examples: [
    "convoke mcp http://127.0.0.1:3000",
    "convoke mcp https://agent.example --token secret",
    "convoke mcp agent.ts --data /var/lib/my-agent",
  ],
  options: { ...FILE_OPTIONS, ...URL_OPTIONS },
  environment: {
    ...AGENT_ENVIRONMENT,
    ...FILE_ENVIRONMENT,
  },
  more: `In the configuration of an editor (Claude Code, Cursor, VS Code and others)

  {
    "mcpServers": {
      "my-agent": {
        "command": "npx",
        "args": ["convoke", "mcp", "http://127.0.0.1:3000"]
      }
    }
  }`,
  run: mcp,
};

/** How long work that the agent left running may continue after the end. */
const LEAVE_MS = 1000;

/** Serves until the host disconnects. */
async function mcp(context: CommandContext): Promise<number> {
  const { io } = context;
  const target = readTarget(context, URL_OPTIONS);
  const reconnect = readReconnect(context);
  // Loaded on demand, so that other commands start faster.
  if (io.keyboard !== undefined) io.stderr(asStarted(terminalHint(target.text), io.started));
  const { runMcp } = await import("../mcp/run-mcp.ts");
  try {
    return await orNotStarted(io, async () =>
      runMcp({
        io,
        reconnect,
        ...(target.isUrl
          ? { url: target.text, connecting: await connectOptions(context) }
          : { file: target.text, data: context.text("data") }),
      }),
    );
  } finally {
    // The host is gone: do not wait for an agent that keeps running.
    setTimeout(() => process.exit(), LEAVE_MS).unref();
  }
}

/** A person who starts it in a terminal sees nothing else: the protocol is for programs. */
function terminalHint(target: string): string {
  return `This is an MCP server: it waits for an MCP host, such as an editor, on standard input. To use it, add
it to the configuration of the host, for example with

  claude mcp add my-agent -- convoke mcp ${quoted(target)}

convoke mcp --help has the configuration for other hosts. To talk to an agent yourself, use convoke chat <url>.
Press Ctrl+C to stop.
`;
}
