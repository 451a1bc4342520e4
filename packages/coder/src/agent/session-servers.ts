import type { Agent } from "@convoke/protocol";
import type { McpServerConfig, McpServers } from "@convoke/runtime";

/** MCP servers by their names. */
export type McpServerConfigs = Readonly<Record<string, McpServerConfig>>;

/** The MCP servers that one session has in addition, and the agents that use them. */
export class SessionServers {
  readonly configs: McpServerConfigs;
  /** One for each model. */
  readonly agents = new Map<string, Agent>();
  #servers: McpServers | undefined;

  constructor(configs: McpServerConfigs) {
    this.configs = configs;
  }

  /** The servers, which all models of the session share. */
  open(create: () => McpServers): McpServers {
    this.#servers ??= create();
    return this.#servers;
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.agents.values()].map(async (agent) => agent[Symbol.asyncDispose]?.()),
    );
    await this.#servers?.close();
  }
}
