import type { AgentPlace, AgentSkill } from "@convoke/protocol";
import type { McpOptions, McpServerConfig } from "../mcp/mcp-config.ts";
import { McpServers } from "../mcp/mcp-servers.ts";

/** The MCP servers of an agent as its author writes them, or such as the author has made already. */
export type McpServersDefinition = Readonly<Record<string, McpServerConfig>> | McpServers;

export interface AgentMcpServersOptions {
  readonly options: McpOptions | undefined;
  /** Whether the card shows what the servers have, for which they must run. */
  readonly isOnCard: boolean;
}

const NO_SKILLS: readonly AgentSkill[] = [];
/** The MCP client takes long to load, and whoever asks meanwhile waits: by then the agent is served. */
const START_AFTER_MS = 100;

/**
 * The MCP servers of one agent. They are closed with it, and start anew when it
 * is served again; those that its author made are left to the author.
 */
export class AgentMcpServers {
  readonly #make: (place: AgentPlace) => McpServers;
  readonly #isGiven: boolean;
  readonly #isOnCard: boolean;
  #place: AgentPlace = {};
  #servers: McpServers | undefined;
  #isUsed = false;
  #start: NodeJS.Timeout | undefined;

  constructor(given: McpServersDefinition, { options, isOnCard }: AgentMcpServersOptions) {
    this.#isGiven = given instanceof McpServers;
    this.#isOnCard = isOnCard;
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

  /** What the card shows of them now. */
  skills(): readonly AgentSkill[] {
    return (this.#isOnCard ? this.#servers?.skills() : undefined) ?? NO_SKILLS;
  }

  /** For a run that begins. */
  use(): McpServers {
    this.#isUsed = true;
    this.#servers ??= this.#make(this.#place);
    return this.#servers;
  }

  /**
   * What the author did not say, the place where the agent is served decides. For its card the
   * servers start from here on, behind everything else: nobody waits, and failures are in the log.
   */
  prepare(place: AgentPlace): void {
    if (this.#isUsed) return;
    this.#place = place;
    this.#servers = this.#make(place);
    if (!this.#isOnCard) return;
    const servers = this.use();
    this.#start = setTimeout(() => void servers.tools(), START_AFTER_MS).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#start);
    const servers = this.#servers;
    this.#servers = undefined;
    this.#isUsed = false;
    if (!this.#isGiven) await servers?.close();
  }
}
