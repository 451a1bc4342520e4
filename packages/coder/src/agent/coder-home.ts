import {
  A2AError,
  type Agent,
  type AgentEnvironment,
  type Caller,
  type ErasureScope,
  type InternalEvent,
  type Message,
  type Turn,
} from "@convoke/protocol";
import { type McpServerConfig, McpServers, defineAgent, resolveModel } from "@convoke/runtime";
import { isObject } from "@convoke/protocol/internal";
import { mkdtempSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { CoderCommand, CommandScope } from "../commands/command.ts";
import { commandsOf } from "../commands/commands.ts";
import { isInside } from "../policy/path-glob.ts";
import { contextFiles, withContextFiles } from "../project/context-files.ts";
import { Project } from "../project/project.ts";
import type { Session } from "../sessions/session.ts";
import { Sessions } from "../sessions/sessions.ts";
import { sha256 } from "../storage/blobs.ts";
import { sessionKey } from "../storage/session-key.ts";
import { FileTexts, SharedTexts, type Texts } from "../storage/texts.ts";
import { type CompactedEvent, estimatedTokens, summarize } from "../sessions/summarize.ts";
import { cardOf } from "./card.ts";
import type { CoderSettings, NamedModel } from "./coder-options.ts";
import { codingInstructions } from "./instructions.ts";
import { type McpServerConfigs, SessionServers } from "./session-servers.ts";

/** The most workspaces that callers may use until the next restart. */
const MAX_PROJECTS = 100;

/** Share of the context window that a conversation may fill before it is summarized. */
const COMPACT_SHARE = 2 / 3;

/** The workspaces, agents and sessions of a coding agent, while it is served. */
export class CoderHome {
  readonly #settings: CoderSettings;
  readonly #projects = new Map<string, Promise<Project>>();
  readonly #opened = new Map<string, Project>();
  readonly #agents = new Map<string, Agent>();
  /** By the contexts of the sessions. */
  readonly #sessionServers = new Map<string, SessionServers>();
  #place: AgentEnvironment = {};
  #folder: string | undefined;
  #isTemporary = false;
  #sessions: Sessions | undefined;

  constructor(settings: CoderSettings) {
    this.#settings = settings;
  }

  get sessions(): Sessions {
    this.#sessions ??= new Sessions(this.#sessionTexts());
    return this.#sessions;
  }

  /** In the database a caller's sessions are a collection of their own, which can be listed alone. */
  #sessionTexts(): (owner: string) => Texts {
    const { values } = this.#place;
    if (values !== undefined) {
      return (owner) => new SharedTexts(values(`sessions/${sha256(Buffer.from(owner))}`));
    }
    const files = new FileTexts(join(this.#ownFolder(), "sessions"));
    return () => files;
  }

  prepare(place: AgentEnvironment): void {
    this.#place = place;
    // Opened at once, so that commands that a crash left running are ended, and the tools can be
    // listed before the first turn. What goes wrong is reported again with each turn.
    const { workspace: root } = this.#settings;
    const opening = this.project().then((project) => this.agent({ root, contextId: "" }, project));
    opening.catch((error: unknown) => {
      place.logger?.warn("the workspace of the coding agent cannot be opened", { error });
    });
  }

  /** The project of a folder, by default of the server's workspace. */
  async project(root = this.#settings.workspace): Promise<Project> {
    const found = this.#projects.get(root);
    if (found !== undefined) return found;
    if (this.#projects.size >= MAX_PROJECTS) {
      throw new A2AError("Unavailable", `the agent already works in ${MAX_PROJECTS} workspaces`);
    }
    const { workspace, allowedRoots, rights: policy, fetch, passEnvironment } = this.#settings;
    const { logger, values } = this.#place;
    const opening = Project.open({
      root,
      allowedRoots: [workspace, ...allowedRoots],
      policy,
      sessions: this.sessions,
      folder: this.#ownFolder(),
      fetch,
      ...(values && { values }),
      ...(passEnvironment && { passEnvironment }),
      ...(logger && { logger }),
    });
    this.#projects.set(root, opening);
    opening.then(
      (project) => this.#opened.set(root, project),
      () => this.#projects.delete(root),
    );
    return opening;
  }

  /** A project that is open already. */
  opened(root = this.#settings.workspace): Project | undefined {
    return this.#opened.get(root);
  }

  commands(project: Project): Promise<readonly CoderCommand[]> {
    return commandsOf(project);
  }

  /** The agent that works on a session. */
  async agent(
    session: Pick<Session, "root" | "model" | "contextId">,
    project: Project,
  ): Promise<Agent> {
    const key = this.#keyOf(session);
    const servers = this.#sessionServers.get(session.contextId);
    const agents = servers?.agents ?? this.#agents;
    const found = agents.get(key);
    if (found !== undefined) return found;
    const agent = this.#makeAgent(project, this.#modelOf(session), servers);
    agent.prepare?.({ ...this.#place, folder: project.folder });
    agents.set(key, agent);
    return agent;
  }

  /** The agent of a session if it has worked already, or any other: all have the same own tools. */
  openAgent(session: Session | undefined): Agent | undefined {
    const agents = this.#sessionServers.get(session?.contextId ?? "")?.agents ?? this.#agents;
    const own = session && agents.get(this.#keyOf(session));
    return own ?? this.#agents.values().next().value;
  }

  /** Replaces the MCP servers that a session has in addition to those of the agent. */
  async setMcpServers(contextId: string, configs: McpServerConfigs): Promise<void> {
    const before = this.#sessionServers.get(contextId);
    if (isDeepStrictEqual(before?.configs ?? {}, configs)) return;
    // Checks the settings of all together. Nothing starts before the first turn.
    void new McpServers({ ...this.#settings.mcpServers, ...configs });
    this.#sessionServers.delete(contextId);
    if (Object.keys(configs).length > 0) {
      this.#sessionServers.set(contextId, new SessionServers(configs));
    }
    await before?.close();
  }

  /** The name of the model that works on a session. */
  modelName(session: Pick<Session, "model">): string {
    return this.#modelOf(session).name;
  }

  commandScope(given: {
    readonly caller: Caller;
    readonly project: Project;
    readonly commands: readonly CoderCommand[];
    readonly session: Session | undefined;
    readonly conversation: readonly Message[];
    readonly turn?: Turn;
    readonly record?: (event: InternalEvent) => void;
  }): CommandScope {
    const { caller, project, commands, session, conversation, turn, record } = given;
    const taskId = turn?.task.id ?? "";
    return {
      caller,
      project,
      commands,
      sessions: this.sessions,
      ...(session && { session }),
      conversation,
      models: this.#settings.models.map(({ name }) => name),
      // If the model cannot be used, the next turn says why.
      contextSize: () => this.#contextSize(session ?? {}).catch(() => undefined),
      mcpServers: () => this.#mcpReport(session),
      summarize: async (messages) => {
        const event = await this.#compact(session!, messages, turn!);
        record?.(event as unknown as InternalEvent);
        return event;
      },
      record: (event) => record?.({ ...event, taskId } as InternalEvent),
      newId: () => turn?.id() ?? "",
    };
  }

  /** Summarizes a conversation that has become long. An earlier attempt's summary is used again. */
  async compactIfLong(
    turn: Turn,
    session: Session,
    visible: readonly Message[],
  ): Promise<InternalEvent | undefined> {
    if (turn.journal.some(({ kind }) => kind === "internal:coder/compacted")) return undefined;
    const limit = this.#settings.compactAtTokens ?? (await this.#defaultLimit(session));
    if (limit === undefined || estimatedTokens(visible) <= limit) return undefined;
    try {
      return (await this.#compact(session, visible, turn)) as unknown as InternalEvent;
    } catch (error) {
      turn.signal.throwIfAborted();
      // Without a summary, the oldest messages are left out of the request.
      this.#place.logger?.warn("a conversation could not be summarized", { error });
      return undefined;
    }
  }

  /** Adds what a turn has used to its session, once. */
  async countUsage(
    { message, task, caller }: Turn,
    used: unknown,
    contextTokens: number | undefined,
  ): Promise<void> {
    if (!isObject(used)) return;
    const [input, output, cost] = ["inputTokens", "outputTokens", "cost"].map((name) => used[name]);
    const { messageId: lastTurn } = message;
    await this.sessions.change(sessionKey(caller, task.contextId), ({ usage }) => {
      if (usage.lastTurn === lastTurn) return {};
      const hasCost = usage.cost !== undefined || cost !== undefined;
      return {
        usage: {
          turns: usage.turns + 1,
          inputTokens: usage.inputTokens + Number(input ?? 0),
          outputTokens: usage.outputTokens + Number(output ?? 0),
          ...(hasCost && { cost: (usage.cost ?? 0) + Number(cost ?? 0) }),
          ...(contextTokens !== undefined && { contextTokens }),
          lastTurn,
        },
      };
    });
  }

  /**
   * Erases sessions, with their checkpoints, and what their owner has approved for always. The sessions
   * go last, because they say in which workspaces there are checkpoints.
   */
  async erase(scope: ErasureScope): Promise<void> {
    const { owner, isWholeOwner, contextIds } = scope;
    const isMeant = (contextId = ""): boolean => isWholeOwner || contextIds.includes(contextId);
    const sessions = (await this.sessions.list(owner)).filter((one) => isMeant(one.contextId));
    const roots = new Set([this.#settings.workspace, ...sessions.map(({ root }) => root)]);
    for (const root of roots) {
      const { checkpoints, grants } = await this.project(root);
      await checkpoints.erase((one) => one.owner === owner && isMeant(one.contextId));
      if (isWholeOwner) await grants.clear(owner);
    }
    for (const agent of this.#agents.values()) await agent.erase?.(scope);
    for (const session of sessions) await this.sessions.delete(session);
  }

  async drain(withinMs: number): Promise<void> {
    await Promise.all([...this.#agents.values()].map(async (agent) => agent.drain?.(withinMs)));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessionServers.values()].map((servers) => servers.close()));
    this.#sessionServers.clear();
    await Promise.all(
      [...this.#agents.values()].map(async (agent) => agent[Symbol.asyncDispose]?.()),
    );
    await Promise.all([...this.#opened.values()].map((project) => project.close()));
    this.#agents.clear();
    this.#projects.clear();
    this.#opened.clear();
    this.#sessions = undefined;
    if (this.#isTemporary) await rm(this.#folder!, { recursive: true, force: true });
    this.#folder = undefined;
    this.#isTemporary = false;
  }

  async #compact(
    session: Session,
    messages: readonly Message[],
    { task, signal }: Pick<Turn, "task" | "signal">,
  ): Promise<CompactedEvent> {
    const { model, modelOptions } = { ...this.#modelOf(session), ...this.#settings };
    const result = await summarize(await resolveModel(model, modelOptions), messages, signal);
    const ids = messages.map(({ messageId }) => messageId);
    await this.sessions.change(session, ({ hidden }) => ({
      summary: result.summary,
      hidden: [...hidden, ...ids],
      inherited: [],
    }));
    return { kind: "internal:coder/compacted", taskId: task.id, messages: ids, ...result };
  }

  async #defaultLimit(session: Session): Promise<number | undefined> {
    const size = await this.#contextSize(session);
    return size === undefined ? undefined : size * COMPACT_SHARE;
  }

  async #contextSize(session: Pick<Session, "model">): Promise<number | undefined> {
    const { model } = this.#modelOf(session);
    return (await resolveModel(model, this.#settings.modelOptions)).contextTokens;
  }

  #modelOf({ model }: Pick<Session, "model">): NamedModel {
    const { models } = this.#settings;
    return models.find(({ name }) => name === model) ?? models[0]!;
  }

  #keyOf(session: Pick<Session, "root" | "model">): string {
    return `${this.#modelOf(session).name}\n${session.root}`;
  }

  #makeAgent(project: Project, { model }: NamedModel, servers: SessionServers | undefined): Agent {
    const { modelOptions, instructions: more, budget, tools = [] } = this.#settings;
    const { workspace, isTrusted, hasSandbox } = project;
    const confirm = project.rule("other");
    const { subAgents } = this.#settings;
    const mcpServers = this.#mcpServers(project, servers);
    return defineAgent({
      ...cardOf(this.#settings),
      model,
      tools: [...project.tools, ...tools],
      approvals: { grants: project.grants },
      instructions: ({ task, caller }) => {
        const mode = project.modeOf(sessionKey(caller, task.contextId));
        return codingInstructions({ root: workspace.root, mode, hasSandbox, more });
      },
      hooks: {
        beforeModel: async (request) => {
          const files = await contextFiles(workspace, request.transcript);
          return withContextFiles(request, files, isTrusted);
        },
      },
      ...(modelOptions && { modelOptions }),
      ...(budget && { budget }),
      ...(mcpServers && { mcpServers, mcpSkills: false }),
      ...(subAgents && {
        subAgents: mapValues(subAgents, (given) => {
          if (typeof given === "string") return { url: given, confirm };
          return "run" in given ? { agent: given, confirm } : { ...given, confirm };
        }),
      }),
    });
  }

  /** The servers of the agent, and those of the session, which replace others of the same name. */
  #mcpServers(
    project: Project,
    servers: SessionServers | undefined,
  ): McpServerConfigs | McpServers | undefined {
    const { root } = project.workspace;
    const { mcpServers: own } = this.#settings;
    const withRules = (configs: McpServerConfigs) =>
      mapValues(configs, (server, name) => withRule(server, project.rule("other", name), root));
    if (servers === undefined) return own && withRules(own);
    const { logger } = this.#place;
    const options = { folder: project.folder, ...(logger && { logger }) };
    return servers.open(() => new McpServers(withRules({ ...own, ...servers.configs }), options));
  }

  #mcpReport(session: Session | undefined): ReturnType<CommandScope["mcpServers"]> {
    const names = Object.keys(this.#settings.mcpServers ?? {});
    const { owner = "", contextId = "" } = session ?? {};
    const task = { kind: "task", id: "", contextId, status: { state: "working" } } as const;
    const report = this.openAgent(session)?.report?.(task, owner) as
      | { readonly mcpServers?: readonly { readonly name: string; readonly status: string }[] }
      | undefined;
    return report?.mcpServers ?? names.map((name) => ({ name, status: "not started" }));
  }

  /**
   * Where the agent keeps its files. Never in the workspace, where its tools could change them: if
   * the data folder is there, it is in the user's folder for state.
   */
  #ownFolder(): string {
    if (this.#folder !== undefined) return this.#folder;
    const { folder } = this.#place;
    if (folder === undefined) {
      this.#isTemporary = true;
      this.#folder = realpathSync(mkdtempSync(join(tmpdir(), "convoke-coder-")));
      return this.#folder;
    }
    const { workspace, allowedRoots } = this.#settings;
    const isReachable = [workspace, ...allowedRoots].some((root) => isInside(folder, root));
    this.#folder = isReachable ? stateFolder(folder) : join(folder, "coder");
    return this.#folder;
  }
}

function stateFolder(folder: string): string {
  const { XDG_STATE_HOME: state = "" } = process.env;
  const base = state.startsWith("/") ? state : join(homedir(), ".local", "state");
  const name = sha256(Buffer.from(folder)).slice(0, 16);
  return join(base, "convoke", "coder", name);
}

function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  change: (value: T, name: string) => U,
): Readonly<Record<string, U>> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, change(value, name)]),
  );
}

function withRule(
  server: McpServerConfig,
  confirm: ReturnType<Project["rule"]>,
  root: string,
): McpServerConfig {
  const cwd = server.command !== undefined && server.cwd === undefined ? { cwd: root } : {};
  return { ...server, ...cwd, confirm };
}
