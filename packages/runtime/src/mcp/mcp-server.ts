import type { AgentSkill } from "@convoke/protocol";
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { isDeepStrictEqual } from "node:util";
import type { Tool } from "../tools/tool.ts";
import type { ChildRecords } from "./child-records.ts";
import { McpConnection, type McpStatus } from "./mcp-connection.ts";
import type { McpSession } from "./mcp-session.ts";
import type { McpServerSettings, McpSettings } from "./mcp-settings.ts";
import { mcpTool } from "./mcp-tool.ts";
import { OpenCalls } from "./open-call.ts";
import { schemaProblem } from "./server-schema.ts";
import { signInTool } from "./sign-in.ts";
import { toolNames } from "./tool-names.ts";
import { toolSkill } from "./tool-skill.ts";

const NO_SKILLS: readonly AgentSkill[] = [];

/** What anyone may know of a server. */
export interface McpServerReport {
  readonly name: string;
  readonly status: McpStatus;
  /** Why it is not connected. */
  readonly error?: string;
  /** What else one should know, such as that some of its tools are left out. */
  readonly note?: string;
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly parameterSchema: Tool["input"];
  }[];
}

/** One server of an agent: its connection, its calls, and its tools. */
export class McpServer {
  readonly #server: McpServerSettings;
  readonly #settings: McpSettings;
  readonly #connection: McpConnection;
  readonly #calls: OpenCalls;
  #tools: readonly Tool[] = [];
  #skills = NO_SKILLS;
  #note: string | undefined;

  constructor(server: McpServerSettings, settings: McpSettings, records: ChildRecords | undefined) {
    this.#server = server;
    this.#settings = settings;
    this.#calls = new OpenCalls(server.name, settings.answerTimeoutMs);
    this.#connection = new McpConnection({
      server,
      settings,
      records,
      onElicit: (params, signal) => this.#calls.ask(params, signal),
      onTools: (tools) => this.#take(tools),
    });
  }

  get name(): string {
    return this.#server.name;
  }

  /** What can be called now. */
  get tools(): readonly Tool[] {
    const { status, error } = this.#connection;
    if (status === "connected") return this.#tools;
    return error?.kind === "sign-in" ? [signInTool(this.#server, this.#connection)] : [];
  }

  /** What can be called now, for a card. It is the same list until that changes. */
  get skills(): readonly AgentSkill[] {
    return this.#connection.status === "connected" ? this.#skills : NO_SKILLS;
  }

  settled(): Promise<void> {
    return this.#connection.settled();
  }

  session(): Promise<McpSession> {
    return this.#connection.ready();
  }

  owns(toolName: string): boolean {
    return toolName.startsWith(`${this.#server.prefix}__`);
  }

  report(): McpServerReport {
    const { status, error } = this.#connection;
    return {
      name: this.name,
      status,
      ...(error && { error: error.message }),
      ...(status === "connected" && this.#note !== undefined && { note: this.#note }),
      tools: this.tools.map(({ name, description, input }) => ({
        name,
        description,
        parameterSchema: input,
      })),
    };
  }

  /** Gives up the calls that wait for answers in a task that is over. */
  endTask(taskId: string): void {
    this.#calls.cancel(taskId);
  }

  async close(): Promise<void> {
    this.#calls.cancel();
    await this.#connection.close();
  }

  /** The tool can still be used, because the server checks its arguments itself. */
  #warnOfSchemas({ name: tool, inputSchema, outputSchema }: ServerTool): void {
    const problem =
      schemaProblem(inputSchema, "inputSchema") ??
      (outputSchema && schemaProblem(outputSchema, "outputSchema"));
    if (problem === undefined) return;
    const { name: server } = this.#server;
    const message = "a schema of an MCP server's tool is unusable, so nothing is checked by it";
    this.#settings.logger.warn(message, { server, tool, problem });
  }

  #take(listed: readonly ServerTool[]): void {
    const { allow, deny, prefix, name: server } = this.#server;
    const { maxTools, maxResultSize, logger } = this.#settings;
    const chosen = listed.filter(
      ({ name }) => (allow === undefined || allow.has(name)) && !deny.has(name),
    );
    const offered = new Map(chosen.slice(0, maxTools).map((tool) => [tool.name, tool]));
    const names = toolNames(prefix, [...offered.keys()]);
    const [connection, calls] = [this.#connection, this.#calls];
    const around = { server: this.#server, connection, calls, maxResultSize };
    const made = [...offered.values()].flatMap((described) => {
      const { name: ownName } = described;
      try {
        const tool = mcpTool(names.get(ownName)!, described, around);
        this.#warnOfSchemas(described);
        return [{ tool, skill: toolSkill(tool, { server, ownName }) }];
      } catch (error) {
        logger.warn("a tool of an MCP server is left out", { server, tool: ownName, error });
        return [];
      }
    });
    this.#tools = made.map(({ tool }) => tool);
    const skills = made.map(({ skill }) => skill);
    // A server that reconnects unchanged does not change the card.
    if (!isDeepStrictEqual(skills, this.#skills)) this.#skills = skills;
    this.#note = noteOf(this.#server, listed, { chosen: chosen.length, maxTools });
  }
}

function noteOf(
  { allow }: McpServerSettings,
  listed: readonly ServerTool[],
  { chosen, maxTools }: { readonly chosen: number; readonly maxTools: number },
): string | undefined {
  if (chosen > maxTools) {
    return `it has ${chosen} tools, of which the first ${maxTools} are used; choose with allow`;
  }
  const known = new Set(listed.map(({ name }) => name));
  const missing = [...(allow ?? [])].filter((name) => !known.has(name));
  return missing.length === 0
    ? undefined
    : `allow names tools it does not have: ${missing.join(", ")}`;
}
