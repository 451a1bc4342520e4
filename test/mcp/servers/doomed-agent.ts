import { McpServers } from "../../../packages/runtime/src/mcp/mcp-servers.ts";

// An agent whose process is killed: it starts a server that does not end by itself.

process.once("SIGUSR2", () => process.exit(0));

const [folder, server, mark] = process.argv.slice(2) as [string, string, string];
const servers = new McpServers(
  { odd: { command: process.execPath, args: [server, "stubborn"], env: { MCP_TEST: mark } } },
  { folder },
);
const tools = await servers.tools();
process.stdout.write(`started with ${tools.length} tools\n`);
setInterval(() => undefined, 60_000);
