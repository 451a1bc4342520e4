import { type McpServer, RequestError } from "@agentclientprotocol/sdk";
import type { CodingAgent } from "@convoke/coder";
import type { McpServerConfig } from "@convoke/runtime";

/** MCP servers by their names. */
export type McpServerConfigs = Parameters<CodingAgent["setMcpServers"]>[1];

/** The MCP servers that an editor sends, as the settings of an agent. */
export function toMcpServers(servers: readonly McpServer[]): McpServerConfigs {
  const configs = new Map<string, McpServerConfig>();
  for (const server of servers) {
    const { name } = server;
    if (configs.has(name)) {
      throw RequestError.invalidParams({ name }, `mcpServers: two servers are called ${name}`);
    }
    configs.set(name, toConfig(server));
  }
  return Object.fromEntries(configs);
}

function toConfig(server: McpServer): McpServerConfig {
  // Servers of a command need no type.
  if ("command" in server) {
    const { command, args, env } = server;
    return { command, args, env: toRecord(env) };
  }
  const { type, name, url, headers } = server;
  if (type === "http") return { url, headers: toRecord(headers) };
  throw RequestError.invalidParams(
    { name, type },
    `the MCP server ${name} has the transport ${type}, which is not supported; use stdio or http`,
  );
}

function toRecord(
  entries: readonly { readonly name: string; readonly value: string }[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}
