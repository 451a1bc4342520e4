import { AGENT_ENVIRONMENT, AGENT_OPTIONS } from "../connect/agent-options.ts";
import { askServer } from "../connect/ask-server.ts";
import { FILE_ENVIRONMENT, FILE_OPTIONS, readTarget } from "../connect/agent-target.ts";
import { connectOptions } from "../connect/connect-options.ts";
import { type Command, type CommandContext, EXIT } from "../terminal/command.ts";
import { quoted } from "../terminal/command-line.ts";
import { asStarted } from "../terminal/invocation.ts";

// Standard input and output carry the protocol, so there are no password prompts and no --json.
const { basic: _basic, json: _json, ...URL_OPTIONS } = AGENT_OPTIONS;

export const acpCommand: Command = {
  name: "acp",
  summary: "Use an agent in an editor that speaks the Agent Client Protocol",
  usage: "<url | file> [options]",
  examples: [
    "convoke acp http://127.0.0.1:3000",
    "convoke acp https://agent.example --token secret",
    "convoke acp agent.ts --data /var/lib/my-agent",
  ],
  options: {
    "ignore-mcp": {
      type: "boolean",
      help: "Ignore the MCP servers of the editor instead of rejecting its sessions",
    },
    ...FILE_OPTIONS,
    ...URL_OPTIONS,
  },
  environment: {
    ...AGENT_ENVIRONMENT,
    ...FILE_ENVIRONMENT,
  },
  more: `In the settings of Zed

  {
    "agent_servers": {
      "My agent": {
        "type": "custom",
        "command": "npx",
        "args": ["convoke", "acp", "http://127.0.0.1:3000"]
      }
    }
  }`,
  run: acp,
};

/** How long work that the agent left running may continue after the end. */
const LEAVE_MS = 1000;

/** Serves until the editor disconnects. */
async function acp(context: CommandContext): Promise<number> {
  const { io } = context;
  const { text, isUrl } = readTarget(context, URL_OPTIONS);
  if (io.keyboard !== undefined) io.stderr(asStarted(terminalHint(text), io.started));
  // Loaded on demand, so that other commands start faster.
  const { runAcp } = await import("../acp/run-acp.ts");
  const { StartError } = await import("../host/config.ts");
  const shared = { io, ignoresMcp: context.flag("ignore-mcp") };
  try {
    if (isUrl) {
      const askCommands = () => askServer(context, { path: "/listCommands", about: "commands" });
      await runAcp({
        ...shared,
        url: text,
        connecting: await connectOptions(context),
        askCommands,
      });
    } else {
      await runAcp({ ...shared, file: text, data: context.text("data") });
    }
    return EXIT.done.code;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    io.stderr(`${asStarted(error.message, io.started)}\n`);
    return EXIT.notStarted.code;
  } finally {
    // The editor is gone: do not wait for an agent that keeps running.
    setTimeout(() => process.exit(), LEAVE_MS).unref();
  }
}

/** A person who starts it in a terminal sees nothing else: the protocol is for programs. */
function terminalHint(target: string): string {
  return `This is an agent for editors: it waits for one that speaks the Agent Client Protocol on standard input.
In the settings of the editor, the command is

  convoke acp ${quoted(target)}

convoke acp --help has an example. To talk to an agent yourself, use convoke chat <url>. Press Ctrl+C to stop.
`;
}
