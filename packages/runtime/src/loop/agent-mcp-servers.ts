import type { AgentPlace } from "@convoke/protocol";
import type { McpOptions, McpServerConfig } from "../mcp/mcp-config.ts";
import { McpServers } from "../mcp/mcp-servers.ts";

/** The MCP servers of an agent as its author writes them, or such as the author has made already. */
export type McpServersDefinition = Readonly<Record<string, McpServerConfig>> | McpServers;

/**
 * The MCP servers of one agent. They are closed with it, and start anew when it
 * is served again; those that its author made are left to the author.
 */
export class AgentMcpServers {
  readonly #make: (place: AgentPlace) => McpServers;
  readonly #isGiven: boolean;
  #place: AgentPlace = {};
  #servers: McpServers | undefined;
  #isUsed = false;

  constructor(given: McpServersDefinition, options: McpOptions | undefined) {
    this.#isGiven = given instanceof McpServers;
    if (given instanceof McpServers) {
      if (options !== undefined) {
        throw new TypeError(
          "mcpServers has its options already: give mcpOptions to new McpServers",
        );
      }
      this.#make = () => given;
    } else {
      this.#make = (place) => new McpServers(given, { ...place, ...options });
    }
    // At once, because this checks every setting; nothing starts before it is used.
    this.#servers = this.#make(this.#place);
  }

  /** For a run that begins. */
  use(): McpServers {
    this.#isUsed = true;
    this.#servers ??= this.#make(this.#place);
    return this.#servers;
  }

  /** What the author did not say, the place where the agent is served decides. */
  prepare(place: AgentPlace): void {
    if (this.#isUsed) return;
    this.#place = place;
    this.#servers = this.#make(place);
  }

  async close(): Promise<void> {
    const servers = this.#servers;
    this.#servers = undefined;
    this.#isUsed = false;
    if (!this.#isGiven) await servers?.close();
  }
}
