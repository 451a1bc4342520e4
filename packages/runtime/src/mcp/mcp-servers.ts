import { orAborted } from "@convoke/protocol/internal";
import type { A2APart, AgentSkill } from "@convoke/protocol";
import type { Tool } from "../tools/tool.ts";
import { ChildRecords } from "../processes/child-records.ts";
import {
  type McpLogger,
  type McpOptions,
  type McpServerConfig,
  mcpServerSettings,
  mcpSettings,
} from "./mcp-settings.ts";
import { McpServer, type McpServerReport } from "./mcp-server.ts";
import { contentPart, resourcePart } from "./result-content.ts";

/** A resource that a server offers. */
export interface McpResource {
  readonly server: string;
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** A prompt template that a server offers. */
export interface McpPrompt {
  readonly server: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description?: string;
    readonly isRequired: boolean;
  }[];
}

export interface McpPromptMessage {
  readonly role: "user" | "assistant";
  readonly parts: readonly A2APart[];
}

const CHILDREN = { prefix: "mcp-child", name: "an MCP server" };

/**
 * The MCP servers of an agent. Each server is started when it is first needed, and one connection
 * then serves all turns until the agent is closed. A server that fails or hangs only makes its own
 * tools unavailable.
 */
export class McpServers implements AsyncDisposable {
  readonly #servers: readonly McpServer[];
  readonly #skills: McpSkills;

  constructor(servers: Readonly<Record<string, McpServerConfig>>, options: McpOptions = {}) {
    const settings = mcpSettings(options);
    const { folder, logger } = settings;
    this.#skills = new McpSkills(logger);
    const records = folder === undefined ? undefined : new ChildRecords(folder, CHILDREN, logger);
    this.#servers = mcpServerSettings(servers, options).map(
      (server) => new McpServer(server, settings, records),
    );
    records?.reap();
  }

  /**
   * The tools that can be called now. Waits for servers that are starting, up to the start timeout
   * of each.
   */
  async tools(signal?: AbortSignal): Promise<readonly Tool[]> {
    const settled = Promise.all(this.#servers.map((server) => server.settled()));
    await (signal === undefined ? settled : orAborted(settled, signal));
    return this.#servers.flatMap(({ tools }) => tools);
  }

  /**
   * The tools of the connected servers as skills for the agent card, at most 256. Does not start
   * any server, and returns the same array until the skills change.
   */
  skills(): readonly AgentSkill[] {
    return this.#skills.of(this.#servers.map(({ skills }) => skills));
  }

  /** The status of each server, for display. It contains no secrets. */
  report(): readonly McpServerReport[] {
    return this.#servers.map((server) => server.report());
  }

  /** Explains why a tool that the model called is missing, if its server is the reason. */
  whyMissing(toolName: string): string | undefined {
    const server = this.#servers.find((one) => one.owns(toolName));
    const { status, error } = server?.report() ?? {};
    if (server === undefined || status === "connected") return undefined;
    const why = error === undefined ? "" : `: ${error}`;
    return `The MCP server ${server.name} is not connected${why}. Its tools cannot be used now.`;
  }

  /** Lists the resources of all servers. Servers that do not answer are left out. */
  async resources(signal?: AbortSignal): Promise<readonly McpResource[]> {
    return this.#each(async (server) => {
      const listed = await (await server.session()).resources(signal);
      return listed.map(({ uri, name, title, description, mimeType }) => ({
        server: server.name,
        uri,
        name,
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
        ...(mimeType !== undefined && { mimeType }),
      }));
    });
  }

  /** Reads a resource from the named server, or from the server that lists its URI. */
  async readResource(
    uri: string,
    options: { readonly server?: string; readonly signal?: AbortSignal } = {},
  ): Promise<readonly A2APart[]> {
    const { signal } = options;
    const name = options.server ?? (await this.#serverOf(uri, signal));
    const session = await this.#find(name).session();
    const { contents } = await session.readResource(uri, signal);
    return contents.map(resourcePart);
  }

  /** Lists the prompts of all servers. Servers that do not answer are left out. */
  async prompts(signal?: AbortSignal): Promise<readonly McpPrompt[]> {
    return this.#each(async (server) => {
      const listed = await (await server.session()).prompts(signal);
      return listed.map(({ name, title, description, arguments: given = [] }) => ({
        server: server.name,
        name,
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
        arguments: given.map(({ name: argument, description: about, required = false }) => ({
          name: argument,
          ...(about !== undefined && { description: about }),
          isRequired: required,
        })),
      }));
    });
  }

  async getPrompt(
    server: string,
    name: string,
    options: {
      readonly arguments?: Readonly<Record<string, string>>;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<readonly McpPromptMessage[]> {
    const session = await this.#find(server).session();
    const messages = await session.prompt(name, options.arguments ?? {}, options.signal);
    return messages.map(({ role, content }) => ({ role, parts: [contentPart(content)] }));
  }

  /** Cancels the calls that wait for answers in a task that has ended. */
  endTask(taskId: string): void {
    for (const server of this.#servers) server.endTask(taskId);
  }

  /** Resolves when all connections are closed and all server processes have exited. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #each<T>(read: (server: McpServer) => Promise<readonly T[]>): Promise<readonly T[]> {
    const readOne = async (server: McpServer): Promise<readonly T[]> => {
      await server.settled();
      return server.report().status === "connected" ? read(server) : [];
    };
    const lists = await Promise.allSettled(this.#servers.map(readOne));
    return lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
  }

  #find(name: string): McpServer {
    const found = this.#servers.find((server) => server.name === name);
    if (found !== undefined) return found;
    const names = this.#servers.map((server) => server.name).join(", ");
    throw new TypeError(`there is no MCP server ${JSON.stringify(name)}; there are ${names}`);
  }

  async #serverOf(uri: string, signal: AbortSignal | undefined): Promise<string> {
    const listed = (await this.resources(signal)).filter((resource) => resource.uri === uri);
    const [only, another] = [...new Set(listed.map(({ server }) => server))];
    if (only !== undefined && another === undefined) return only;
    const how = only === undefined ? "no MCP server lists" : "several MCP servers list";
    throw new TypeError(`${how} ${uri}: name the server, as in readResource(uri, { server })`);
  }
}

type Skills = readonly AgentSkill[];

/** Clients fetch the whole card at once, so it has to stay small. */
const MAX_SKILLS = 256;

/**
 * Combines the skills of several servers. Returns the same array until one of the lists changes.
 */
class McpSkills {
  readonly #logger: McpLogger;
  #lists: readonly Skills[] = [];
  #skills: Skills = [];
  #hasTold = false;

  constructor(logger: McpLogger) {
    this.#logger = logger;
  }

  /** @param lists one list per server, in configuration order */
  of(lists: readonly Skills[]): Skills {
    const isSame = (list: Skills, place: number): boolean => list === this.#lists[place];
    if (lists.length === this.#lists.length && lists.every(isSame)) return this.#skills;
    const all = lists.flat();
    if (all.length > MAX_SKILLS) this.#tell(all.length);
    this.#lists = lists;
    this.#skills = all.slice(0, MAX_SKILLS);
    return this.#skills;
  }

  #tell(count: number): void {
    if (this.#hasTold) return;
    this.#hasTold = true;
    this.#logger.warn("the card leaves out tools of MCP servers; choose with allow", {
      tools: count,
      shown: MAX_SKILLS,
    });
  }
}
