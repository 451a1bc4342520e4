import { existsSync } from "node:fs";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  RECONNECT_OPTIONS,
  reconnectOf,
  refuseText,
  urlOf,
} from "../connect/agent-options.ts";
import {
  type Command,
  type CommandContext,
  type CommandOption,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { connectOptions } from "../connect/connect-options.ts";

// Standard input is the protocol, so no password can come by it, and nothing is printed but that.
const { basic: _basic, json: _json, ...CALL_OPTIONS } = AGENT_OPTIONS;

const URL_OPTIONS = { ...RECONNECT_OPTIONS, ...CALL_OPTIONS };

const FILE_OPTIONS = {
  data: {
    type: "string",
    value: "<folder>",
    help: 'With a file: where tasks are kept, or "memory" (CONVOKE_DATA, .convoke)',
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
    CONVOKE_DATA: 'With a file: where tasks are kept, or "memory" (.convoke)',
    CONVOKE_LOG: "With a file: debug, info, warn, error or silent (warn)",
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

/** How long something that the agent left running may go on after the end. */
const LEAVE_MS = 1000;

/** Serves until the host is gone. */
async function mcp(context: CommandContext): Promise<number> {
  const { io } = context;
  const target = targetOf(context);
  const reconnect = reconnectOf(context);
  // The other commands do not pay for loading a server.
  const { runMcp } = await import("../mcp/run-mcp.ts");
  const { StartError } = await import("../host/settings.ts");
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
    io.stderr(`${error.message}\n`);
    return EXIT.notStarted.code;
  } finally {
    // Whoever is gone does not wait for an agent that went on all the same.
    setTimeout(() => process.exit(), LEAVE_MS).unref();
  }
}

/** What has a scheme is an address, and everything else a file. */
function targetOf(context: CommandContext): { readonly text: string; readonly isUrl: boolean } {
  const [text] = context.positionals;
  if (text === undefined) throw new UsageError("The address or the file of the agent is missing.");
  refuseText(context);
  const isUrl = text.includes("://");
  const given = Object.keys(isUrl ? FILE_OPTIONS : URL_OPTIONS).find(
    (name) => context.flag(name) || context.texts(name).length > 0,
  );
  if (given !== undefined) {
    const other = isUrl ? "a file" : "an address";
    throw new UsageError(`--${given} goes with ${other}, and ${text} is none.`);
  }
  if (isUrl) return { text: urlOf(context), isUrl };
  if (/^[\w.-]+:\d+(?:\/|$)/.test(text) && !existsSync(text)) {
    throw new UsageError(`There is no file ${text}. For the address try http://${text}`);
  }
  return { text, isUrl };
}
