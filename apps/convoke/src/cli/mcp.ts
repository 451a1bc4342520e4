import { existsSync } from "node:fs";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  RECONNECT_OPTIONS,
  readReconnect,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import {
  type Command,
  type CommandContext,
  type CommandOption,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { connectOptions } from "../connect/connect-options.ts";
import { quoted } from "../terminal/command-line.ts";
import { asStarted } from "../terminal/invocation.ts";

// Standard input and output carry the MCP protocol, so there are no password prompts and no --json.
const { basic: _basic, json: _json, ...CALL_OPTIONS } = AGENT_OPTIONS;

const URL_OPTIONS = { ...RECONNECT_OPTIONS, ...CALL_OPTIONS };

const FILE_OPTIONS = {
  data: {
    type: "string",
    value: "<folder>",
    help: 'With a file: the folder for tasks, or "memory" (CONVOKE_DATA, .convoke/<agent id>)',
  },
} as const satisfies Record<string, CommandOption>;

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
    CONVOKE_DATA: 'With a file: the folder for tasks, or "memory" (.convoke/<agent id>)',
    CONVOKE_LOG_FORMAT: "With a file: pretty or json (json)",
    CONVOKE_LOG: "With a file: log level, one of debug, info, warn, error or silent (warn)",
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
  const target = targetOf(context);
  const reconnect = readReconnect(context);
  // Loaded on demand, so that other commands start faster.
  if (io.keyboard !== undefined) io.stderr(asStarted(terminalHint(target.text), io.started));
  const { runMcp } = await import("../mcp/run-mcp.ts");
  const { StartError } = await import("../host/config.ts");
  try {
    await runMcp({
      io,
      reconnect,
      ...(target.isUrl
        ? { url: target.text, connecting: await connectOptions(context) }
        : { file: target.text, data: context.text("data") }),
    });
    return EXIT.done.code;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    io.stderr(`${asStarted(error.message, io.started)}\n`);
    return EXIT.notStarted.code;
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

/** An argument with a scheme is an address, everything else a file. */
function targetOf(context: CommandContext): { readonly text: string; readonly isUrl: boolean } {
  const [text] = context.positionals;
  if (text === undefined) throw new UsageError("The address or the file of the agent is missing.");
  rejectMoreArguments(context);
  const isUrl = text.includes("://");
  const given = Object.keys(isUrl ? FILE_OPTIONS : URL_OPTIONS).find(
    (name) => context.flag(name) || context.texts(name).length > 0,
  );
  if (given !== undefined) {
    const other = isUrl ? "a file" : "an address";
    throw new UsageError(`--${given} can only be used with ${other}, but ${text} is not one.`);
  }
  if (isUrl) return { text: readUrl(context), isUrl };
  if (/^[\w.-]+:\d+(?:\/|$)/.test(text) && !existsSync(text)) {
    throw new UsageError(`There is no file ${text}. If it is an address, try http://${text}`);
  }
  return { text, isUrl };
}
