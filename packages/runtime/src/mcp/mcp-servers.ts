import { orAborted } from "@convoke/protocol/internal";
import type { A2APart, AgentSkill } from "@convoke/protocol";
import type { Tool } from "../tools/tool.ts";
import { ChildRecords } from "./child-records.ts";
import {
  type McpLogger,
  type McpOptions,
  type McpServerConfig,
  mcpServerSettings,
  mcpSettings,
} from "./mcp-settings.ts";
import { McpServer, type McpServerReport } from "./mcp-server.ts";
import { contentPart, resourcePart } from "./result-content.ts";

/** Something to read on a server. */
export interface McpResource {
  readonly server: string;
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** A prepared prompt of a server. */
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

/**
 * The MCP servers of an agent. Nothing starts before it is needed; then one
 * connection to each serves all turns, until the agent is closed. A server that
 * fails or hangs takes its own tools away, and nothing else.
 */
export class McpServers implements AsyncDisposable {
  readonly #servers: readonly McpServer[];
  readonly #skills: McpSkills;

  constructor(servers: Readonly<Record<string, McpServerConfig>>, options: McpOptions = {}) {
    const settings = mcpSettings(options);
    const { folder, logger } = settings;
    this.#skills = new McpSkills(logger);
    const records = folder === undefined ? undefined : new ChildRecords(folder, logger);
    this.#servers = mcpServerSettings(servers, options).map(
      (server) => new McpServer(server, settings, records),
    );
    records?.reap();
  }

  /** What can be called now. Waits for servers that start, each within its own time. */
  async tools(signal?: AbortSignal): Promise<readonly Tool[]> {
    const settled = Promise.all(this.#servers.map((server) => server.settled()));
    await (signal === undefined ? settled : orAborted(settled, signal));
    return this.#servers.flatMap(({ tools }) => tools);
  }

  /**
   * The tools of the servers that are connected now, as skills for a card; 256 at most. Starts
   * nothing, and gives the same list until it changes.
   */
  skills(): readonly AgentSkill[] {
    return this.#skills.of(this.#servers.map(({ skills }) => skills));
  }

  /** Where each server stands, for people; it holds no secrets. */
  report(): readonly McpServerReport[] {
    return this.#servers.map((server) => server.report());
  }

  /** Why a tool that a model calls is not here, when its server is to blame. */
  whyMissing(toolName: string): string | undefined {
    const server = this.#servers.find((one) => one.owns(toolName));
    const { status, error } = server?.report() ?? {};
    if (server === undefined || status === "connected") return undefined;
    const why = error === undefined ? "" : `: ${error}`;
    return `The MCP server ${server.name} is not connected${why}. Its tools cannot be used now.`;
  }

  /** What the servers offer to read. Those that do not answer are left out. */
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

  /** Reads from the server that lists the address, or from the one that is named. */
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

  /** The prompts that the servers have prepared. Those that do not answer are left out. */
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

  /** Gives up the calls that wait for answers in a task that is over. */
  endTask(taskId: string): void {
    for (const server of this.#servers) server.endTask(taskId);
  }

  /** Resolves when no connection and no process of a server is left. */
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

/** Cards are read as a whole, so they stay small. */
const MAX_SKILLS = 256;

/** The skills of several servers as one list, which is the same list until one of them changes. */
class McpSkills {
  readonly #logger: McpLogger;
  #lists: readonly Skills[] = [];
  #skills: Skills = [];
  #hasTold = false;

  constructor(logger: McpLogger) {
    this.#logger = logger;
  }

  /** @param lists one for each server, in their order */
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
