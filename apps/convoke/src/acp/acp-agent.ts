import {
  type AgentApp,
  type AgentContext,
  type ClientCapabilities,
  type InitializeRequest,
  type InitializeResponse,
  type LoadSessionRequest,
  type McpServer,
  PROTOCOL_VERSION,
  RequestError,
  agent as createAgent,
  methods,
} from "@agentclientprotocol/sdk";
import type { RemoteAgent } from "@convoke/client";
import { CODER_DIALECTS, ClientError, EXTENSIONS, RemoteError } from "@convoke/protocol";
import { printable } from "@convoke/protocol/internal";
import { randomUUID } from "node:crypto";
import { isAbsolute } from "node:path";
import { listField, textField } from "../terminal/json-fields.ts";
import { type AskServer, CoderCommands, type CoderStatus } from "./coder-commands.ts";
import { type McpServerConfigs, toMcpServers } from "./mcp-servers.ts";
import { Session } from "./session.ts";
import { SessionSettings } from "./session-settings.ts";
import { deleteSession, listSessions, tasksOf } from "./sessions.ts";

/** The agent that an editor uses. */
export interface AcpTarget {
  readonly connect: () => Promise<RemoteAgent>;
  readonly ask: AskServer;
  /**
   * Gives a session MCP servers, in place of those that it had. Absent for an agent that cannot have
   * servers of the editor: one that is reached over A2A, where no caller may bring any.
   */
  readonly setMcpServers?: (sessionId: string, servers: McpServerConfigs) => Promise<void>;
}

export interface AcpAgentOptions {
  readonly target: AcpTarget;
  /** Whether MCP servers of the editor are ignored instead of rejected. */
  readonly ignoresMcp: boolean;
  /** Aborts when the editor is gone. */
  readonly gone: AbortSignal;
  /** Writes a line to the log. */
  readonly note: (message: string) => void;
}

/** What is known once the editor and the agent are connected. */
interface Connected {
  readonly agent: RemoteAgent;
  readonly isCoder: boolean;
  /** Those of a coding agent. */
  readonly commands: CoderCommands | undefined;
  readonly capabilities: ClientCapabilities;
}

/** Offers an A2A agent to an editor: the agent side of the Agent Client Protocol. */
export class AcpAgent {
  readonly #options: AcpAgentOptions;
  readonly #sessions = new Map<string, Session>();
  #connected: Connected | undefined;

  constructor(options: AcpAgentOptions) {
    this.#options = options;
  }

  /** The handlers of all methods. */
  get app(): AgentApp {
    const { agent } = methods;
    const { session } = agent;
    return createAgent({ name: "convoke" })
      .onRequest(
        agent.initialize,
        this.#handle((params) => this.#initialize(params)),
      )
      .onRequest(agent.authenticate, () => {
        throw RequestError.invalidParams({}, "there are no authentication methods");
      })
      .onRequest(
        session.new,
        this.#handle((params, client) => this.#open(params, client)),
      )
      .onRequest(
        session.load,
        this.#handle((params, client) => this.#load(params, client, true)),
      )
      .onRequest(
        session.resume,
        this.#handle((params, client) => this.#load({ mcpServers: [], ...params }, client, false)),
      )
      .onRequest(
        session.list,
        this.#handle((params) => listSessions(this.#ready.agent, this.#ready.commands, params)),
      )
      .onRequest(
        session.delete,
        this.#handle(({ sessionId }) => this.#delete(sessionId)),
      )
      .onRequest(
        session.close,
        this.#handle(({ sessionId }) => this.#close(sessionId)),
      )
      .onRequest(
        session.setMode,
        this.#handle(async ({ sessionId, modeId }) => {
          await this.#session(sessionId).choose("mode", modeId);
          return {};
        }),
      )
      .onRequest(
        session.setConfigOption,
        this.#handle(async ({ sessionId, configId, value }) => {
          const chosen = this.#session(sessionId);
          await chosen.choose(configId, value);
          return { configOptions: chosen.state.configOptions ?? [] };
        }),
      )
      .onRequest(
        session.prompt,
        this.#handle(({ sessionId, prompt }) => this.#session(sessionId).prompt(prompt)),
      )
      .onNotification(
        session.cancel,
        this.#handle(({ sessionId }) => this.#session(sessionId).cancel()),
      );
  }

  /** Closes the connection to the agent. Its tasks continue. */
  close(): void {
    this.#connected?.agent.close();
  }

  async #initialize({ clientCapabilities = {} }: InitializeRequest): Promise<InitializeResponse> {
    const { target } = this.#options;
    const agent = await target.connect();
    const isCoder = declares(agent, EXTENSIONS.coder.uri);
    const commands = declares(agent, CODER_DIALECTS.events)
      ? await CoderCommands.open(target.ask)
      : undefined;
    this.#connected = { agent, isCoder, commands, capabilities: clientCapabilities };
    const { inputModes, version } = agent.info;
    const takes = (type: string) =>
      inputModes.some((mode) => mode.startsWith(`${type}/`) || mode.startsWith("*"));
    // Sessions are found by listing tasks, which only A2A 1.0 has.
    const hasList = agent.version === "1.0";
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: agent.name, title: agent.name, version },
      agentCapabilities: {
        loadSession: hasList,
        mcpCapabilities: { http: target.setMcpServers !== undefined, sse: false },
        promptCapabilities: { image: takes("image"), audio: takes("audio"), embeddedContext: true },
        sessionCapabilities: {
          close: {},
          ...(hasList && { list: {}, resume: {} }),
          ...(hasList && commands?.has("sessions") && { delete: {} }),
        },
      },
      authMethods: [],
    };
  }

  async #open({ cwd, mcpServers }: OpenParams, client: AgentContext) {
    const session = await this.#create(randomUUID(), { cwd, mcpServers }, client);
    return { sessionId: session.id, ...session.state };
  }

  async #load(
    { sessionId, ...params }: LoadSessionRequest,
    client: AgentContext,
    isShown: boolean,
  ) {
    const tasks = await tasksOf(this.#ready.agent, sessionId);
    if (tasks.length === 0) throw RequestError.sessionNotFound(sessionId);
    const session = await this.#create(sessionId, params, client);
    await session.load(tasks, isShown);
    return session.state;
  }

  async #close(sessionId: string) {
    await this.#session(sessionId).cancel();
    this.#sessions.delete(sessionId);
    await this.#options.target.setMcpServers?.(sessionId, {});
    return {};
  }

  async #delete(sessionId: string) {
    if (this.#sessions.has(sessionId)) await this.#close(sessionId);
    await deleteSession(this.#ready.agent, sessionId);
    return {};
  }

  async #create(
    id: string,
    { cwd, mcpServers }: OpenParams,
    client: AgentContext,
  ): Promise<Session> {
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, "cwd must be an absolute path");
    await this.#setMcpServers(id, mcpServers);
    const { agent, isCoder, commands, capabilities } = this.#ready;
    const { gone, note } = this.#options;
    const status = (sessionId: string) => this.#status(sessionId);
    const scope = { agent, isCoder, client, capabilities, status, gone, note };
    const known = await status(id);
    const session = new Session(scope, id, cwd, known && new SessionSettings(known));
    this.#sessions.get(id)?.leave();
    this.#sessions.set(id, session);
    // After the response, because the editor does not know the session before.
    if (commands !== undefined && commands.list.length > 0) {
      const availableCommands = [...commands.list];
      const update = { sessionUpdate: "available_commands_update", availableCommands } as const;
      setImmediate(() => {
        session.show(update).catch(() => undefined);
      });
    }
    return session;
  }

  /** Only an agent of this process can have servers of the editor: a message cannot bring any. */
  async #setMcpServers(sessionId: string, servers: readonly McpServer[]): Promise<void> {
    const { target, ignoresMcp, note } = this.#options;
    const names = servers.map(({ name }) => name).join(", ");
    if (ignoresMcp && servers.length > 0) return note(`MCP servers are ignored: ${names}`);
    if (target.setMcpServers === undefined && servers.length > 0) {
      throw RequestError.invalidParams(
        { mcpServers: names },
        `this agent does not accept MCP servers of the client (${names}); configure them at the agent, or start convoke acp with --ignore-mcp`,
      );
    }
    try {
      await target.setMcpServers?.(sessionId, toMcpServers(servers));
    } catch (error) {
      // Their settings are wrong; the text says which field.
      if (error instanceof TypeError) throw RequestError.invalidParams({}, error.message);
      throw error;
    }
  }

  /** A server that cannot say it does not end the session: its settings are shown as they were. */
  async #status(sessionId: string): Promise<CoderStatus | undefined> {
    try {
      return await this.#ready.commands?.status(sessionId);
    } catch (error) {
      const { gone, note } = this.#options;
      if (!gone.aborted) note(`The status of the session is not known: ${String(error)}`);
      return undefined;
    }
  }

  get #ready(): Connected {
    if (this.#connected !== undefined) return this.#connected;
    throw RequestError.invalidRequest({}, "initialize must be called first");
  }

  #session(sessionId: string): Session {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) throw RequestError.sessionNotFound(sessionId);
    return session;
  }

  /** A handler whose errors the editor can show. The text of an unknown error is only logged. */
  #handle<Params, Result>(
    work: (params: Params, client: AgentContext) => Result | Promise<Result>,
  ): (context: { readonly params: Params; readonly client: AgentContext }) => Promise<Result> {
    return async ({ params, client }) => {
      try {
        return await work(params, client);
      } catch (error) {
        if (error instanceof RequestError) throw error;
        if (error instanceof RemoteError) {
          const { message, code } = error;
          throw RequestError.internalError(
            { code },
            `the agent answered with an error: ${message}`,
          );
        }
        if (error instanceof ClientError) throw RequestError.internalError({}, error.message);
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        if (!this.#options.gone.aborted) this.#options.note(printable(text));
        throw RequestError.internalError({}, "see the log of convoke acp");
      }
    };
  }
}

interface OpenParams {
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
}

/** Whether the card declares an extension. */
function declares({ card }: RemoteAgent, uri: string): boolean {
  const declared = listField(card["capabilities"], "extensions");
  return declared.some((extension) => textField(extension, "uri") === uri);
}
