import type {
  AgentEnvironment,
  AgentSkill,
  ErasureScope,
  InternalEvent,
  Turn,
} from "@convoke/protocol";
import { AgentGrantStore, type GrantStore } from "../approvals/grants.ts";
import {
  type ClientToolOptions,
  type ClientToolSettings,
  clientToolSettings,
} from "./client-tools.ts";
import type { McpOptions, McpServerConfig } from "../mcp/mcp-settings.ts";
import type { McpServerReport } from "../mcp/mcp-server.ts";
import type { ModelOptions, ModelSpecs } from "../models/model-options.ts";
import {
  type SubAgentSettings,
  type SubAgentsDefinition,
  subAgentSettings,
} from "../sub-agents/sub-agent-settings.ts";
import { ToolBox } from "../tools/tool-box.ts";
import { type InputSchema, type ToolInput, agentOutput } from "../tools/tool-input.ts";
import type { Tool } from "../tools/tool.ts";
import { AgentModels } from "./agent-models.ts";
import { AgentIdentity, type Budget, resolveBudget } from "./budget.ts";
import { DEFAULT_RETRY, type RetryRule } from "./backoff.ts";
import { OperatorLog } from "./operator-log.ts";
import type { LoopHooks } from "./hooks.ts";
import { McpServers } from "../mcp/mcp-servers.ts";
import { LoopJournal } from "./loop-journal.ts";
import { ChildCancels } from "../sub-agents/child-cancels.ts";
import { SubAgentLink, type SubAgentReport } from "../sub-agents/sub-agent-link.ts";

/** The definition of an agent with a model. */
export interface LoopDefinition {
  /**
   * `anthropic:…`, `openai:…`, `google:…`, `ollama:…`, an OpenAI-compatible URL, a model object, or
   * "demo". In a list, the next model is used when one cannot answer and has not begun to: it is
   * unreachable or overloaded after all retries, or its key or its package is missing or rejected.
   */
  readonly model: ModelSpecs;
  /** Options of the model. In a list, each model can have its own: `{ model: "openai:gpt-5", price }`. */
  readonly modelOptions?: ModelOptions;
  /** The system prompt. */
  readonly instructions?: string | ((turn: Turn) => string);
  readonly tools?: readonly Tool[];
  /**
   * The schema of the final answer, a Standard Schema such as zod's or a JSON Schema, of an object.
   * The model is asked for it, and the answer is checked: one that does not fit is requested once
   * more with the problem, and then fails the task. The answer arrives whole, in one artifact with
   * the JSON as text and as data. Default: the answer is text.
   */
  readonly output?: InputSchema;
  readonly budget?: Budget;
  /**
   * Whether work may return to this agent via other agents. Default false, because such a cycle
   * usually means that two agents delegate to each other until a limit is reached.
   */
  readonly allowsCycles?: boolean;
  readonly hooks?: LoopHooks;
  /** How many tools run at the same time. Default 5. */
  readonly maxParallelTools?: number;
  /** The longest tool output that the model gets, in characters. Default 65536. */
  readonly toolOutputLimit?: number;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly retry?: Partial<RetryRule>;
  readonly approvals?: ApprovalSettings;
  /**
   * Whether callers can follow the tool calls of a task and their results, by activating the
   * extension `tool-activity`. Default true. Turn it off if arguments or results of tools are not
   * for callers.
   */
  readonly toolActivity?: boolean;
  /**
   * MCP servers whose tools the agent can use, by name. When the agent is served, they start in the
   * background, because the card lists their tools. Otherwise, or if `mcpSkills` is false, a server
   * starts when a turn first needs it. They are closed with the agent, except for a `McpServers`
   * instance that you pass in, which you close yourself.
   */
  readonly mcpServers?: McpServersDefinition;
  /** Whether the tools of connected MCP servers are listed as skills on the card. Default true. */
  readonly mcpSkills?: boolean;
  /** Options for all MCP servers. */
  readonly mcpOptions?: McpOptions;
  /**
   * The names of the tools that the agent may use: its own, those of its MCP servers and its
   * sub-agents. The card lists no others. An empty list means none. Default: all of them.
   */
  readonly mcpToolPermissions?: readonly string[];
  /**
   * Other agents that this agent may call, keyed by tool name: a URL, an agent of this process, or
   * an object with options. Their questions are relayed to the caller, and their tasks are canceled
   * when this task ends.
   */
  readonly subAgents?: SubAgentsDefinition;
  /**
   * How the agent uses tools that its callers declare and run themselves; false disables them. By
   * default a call waits five minutes, and then the model continues without it.
   */
  readonly clientTools?: ClientToolOptions | false;
}

export interface ApprovalSettings {
  /** How long an approval may stay open. Default: as long as its task waits. */
  readonly expiresInMs?: number;
  /**
   * Whether plain text can decide an approval if it is the only open request: "approve" or "yes"
   * approves, and "reject" followed by a reason rejects. Default: only for callers that have not
   * activated the extension, because they have no other way to answer, and in an `AgentLoop` used
   * without a server. "reject" and "no" alone always reject.
   */
  readonly acceptPlainText?: boolean;
  /**
   * Stores permanent approvals. Default: in the database, if the tasks are in one that servers share;
   * otherwise in memory, for the lifetime of the process.
   */
  readonly grants?: GrantStore;
}

/** The validated definition, with all defaults filled in. */
export interface LoopSettings {
  readonly agentName: string;
  readonly identity: AgentIdentity;
  readonly allowsCycles: boolean;
  readonly models: AgentModels;
  readonly log: OperatorLog;
  readonly instructions: LoopDefinition["instructions"];
  readonly tools: ToolBox;
  /** Whether the agent may use the tool of this name. */
  readonly isPermitted: (toolName: string) => boolean;
  readonly output: ToolInput | undefined;
  readonly budget: Budget;
  readonly hooks: LoopHooks;
  readonly maxParallelTools: number;
  readonly toolOutputLimit: number;
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly retry: RetryRule;
  readonly approvals: ApprovalSettings & { readonly grants: AgentGrantStore };
  /** Whether the loop runs without a server. Then the message of its last status has the final answer. */
  readonly isStandalone: boolean;
  readonly mcp: AgentMcpServers | undefined;
  readonly subAgents: AgentSubAgents | undefined;
  /** Undefined if client tools are disabled. */
  readonly clientTools: ClientToolSettings | undefined;
}

const DEFAULT_PARALLEL = 5;
const DEFAULT_OUTPUT_LIMIT = 64 * 1024;

export function loopSettings(agentName: string, definition: LoopDefinition): LoopSettings {
  const { maxParallelTools = DEFAULT_PARALLEL, toolOutputLimit = DEFAULT_OUTPUT_LIMIT } =
    definition;
  const retry = { ...DEFAULT_RETRY, ...definition.retry };
  checkWhole("maxParallelTools", maxParallelTools);
  checkWhole("toolOutputLimit", toolOutputLimit);
  checkWhole("retry.attempts", retry.attempts);
  const { approvals = {} } = definition;
  if (approvals.expiresInMs !== undefined) {
    checkWhole("approvals.expiresInMs", approvals.expiresInMs);
  }
  const isPermitted = toolPermissions(definition);
  return {
    agentName,
    identity: new AgentIdentity(agentName),
    allowsCycles: definition.allowsCycles ?? false,
    log: new OperatorLog(),
    models: new AgentModels(definition.model, definition.modelOptions),
    instructions: definition.instructions,
    tools: new ToolBox(definition.tools ?? []).only(({ name }) => isPermitted(name)),
    isPermitted,
    output: definition.output === undefined ? undefined : agentOutput(definition.output),
    budget: resolveBudget(definition.budget),
    hooks: definition.hooks ?? {},
    maxParallelTools,
    toolOutputLimit,
    maxOutputTokens: definition.maxOutputTokens,
    temperature: definition.temperature,
    retry,
    approvals: { ...approvals, grants: new AgentGrantStore(approvals.grants) },
    isStandalone: false,
    mcp: agentMcpServers(definition),
    subAgents: agentSubAgents(agentName, definition),
    clientTools: clientToolSettings(definition.clientTools),
  };
}

/**
 * The settings of a loop that runs without a server: the code that holds it is its caller, and sees
 * failures of tools and models in the events.
 */
export function standaloneSettings(settings: LoopSettings): LoopSettings {
  const { acceptPlainText = true } = settings.approvals;
  const approvals = { ...settings.approvals, acceptPlainText };
  return { ...settings, isStandalone: true, approvals, log: new OperatorLog() };
}

function toolPermissions({ mcpToolPermissions: given }: LoopDefinition): (name: string) => boolean {
  if (given === undefined) return () => true;
  if (!Array.isArray(given) || !given.every((name) => typeof name === "string")) {
    throw new TypeError("mcpToolPermissions must be a list of tool names; leave it out for all");
  }
  const names = new Set<string>(given);
  return (name) => names.has(name);
}

function agentMcpServers(definition: LoopDefinition): AgentMcpServers | undefined {
  const { mcpServers, mcpOptions: options, mcpSkills } = definition;
  if (mcpSkills !== undefined && typeof mcpSkills !== "boolean") {
    throw new TypeError(`mcpSkills must be true or false, not ${JSON.stringify(mcpSkills)}`);
  }
  if (mcpServers !== undefined) {
    return new AgentMcpServers(mcpServers, { options, isOnCard: mcpSkills ?? true });
  }
  const lonely = (["mcpOptions", "mcpSkills"] as const).find(
    (setting) => definition[setting] !== undefined,
  );
  if (lonely === undefined) return undefined;
  throw new TypeError(
    `${lonely} is for mcpServers, and there are none: name some, or leave it out`,
  );
}

function agentSubAgents(
  agentName: string,
  { subAgents, tools = [] }: LoopDefinition,
): AgentSubAgents | undefined {
  if (subAgents === undefined) return undefined;
  const settings = subAgentSettings(subAgents, tools);
  return settings.length === 0 ? undefined : new AgentSubAgents(agentName, settings);
}

function checkWhole(name: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) {
    throw new TypeError(`${name} must be a whole number above 0, not ${value}`);
  }
}

/** The MCP servers of an agent: their configuration, or an instance that the author created. */
type McpServersDefinition = Readonly<Record<string, McpServerConfig>> | McpServers;

interface AgentMcpServersOptions {
  readonly options: McpOptions | undefined;
  /** Whether the card lists the servers' tools, for which they must run. */
  readonly isOnCard: boolean;
}

/**
 * The MCP client is slow to load, so it is loaded shortly after the start, once requests are
 * served.
 */
const START_AFTER_MS = 100;

const NO_SKILLS: readonly AgentSkill[] = [];

/**
 * The MCP servers of one agent. They are closed with the agent and start again when it is served
 * again. An instance that the author passed in is left for the author to close.
 */
class AgentMcpServers {
  readonly #make: (place: AgentEnvironment) => McpServers;
  readonly #isGiven: boolean;
  readonly #isOnCard: boolean;
  #place: AgentEnvironment = {};
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
    // Created immediately, because this validates the settings; no server starts before it is used.
    this.#servers = this.#make(this.#place);
  }

  /** The status of each server, without starting any. */
  report(): readonly McpServerReport[] {
    return this.#servers?.report() ?? [];
  }

  /** The skills that the card currently lists for the servers. */
  skills(): readonly AgentSkill[] {
    return (this.#isOnCard ? this.#servers?.skills() : undefined) ?? NO_SKILLS;
  }

  /** Returns the servers for a new run. */
  use(): McpServers {
    this.#isUsed = true;
    this.#servers ??= this.#make(this.#place);
    return this.#servers;
  }

  /**
   * Takes defaults from the environment for whatever the author left open. If the card lists the
   * servers' tools, starts them in the background: nothing waits for them, and failures are logged.
   */
  prepare(place: AgentEnvironment): void {
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

/** The sub-agents of one agent: their connections and pending cancels. */
class AgentSubAgents {
  readonly links: readonly SubAgentLink[];
  readonly cancels: ChildCancels;

  constructor(caller: string, settings: readonly SubAgentSettings[]) {
    this.links = settings.map((one) => new SubAgentLink(one));
    this.cancels = new ChildCancels(caller, (name) => this.find(name));
  }

  find(name: string): SubAgentLink | undefined {
    return this.links.find((link) => link.name === name);
  }

  /** Fetches their cards in parallel. */
  async look(owner: string, waitMs: number): Promise<void> {
    await Promise.all(this.links.map((link) => link.look(owner, waitMs)));
  }

  report(): readonly SubAgentReport[] {
    return this.links.map((link) => link.report());
  }

  prepare(place: AgentEnvironment): void {
    for (const link of this.links) link.prepare(place);
    this.cancels.prepare(place);
  }

  /** Cancels everything that the calls of an ended task have started. */
  abandon(journal: readonly InternalEvent[]): void {
    for (const { task, call } of new LoopJournal(journal).openSubAgents()) {
      if (task !== undefined) {
        const { agent, owner, childTaskId } = task;
        this.cancels.add({ agent, owner, childTaskId });
      } else {
        const { agent, owner, messageId, childContextId } = call;
        this.cancels.add({ agent, owner, message: { messageId, childContextId } });
      }
    }
  }

  /** Erases the tasks of those that run in this process. Others keep their own. */
  async erase(scope: ErasureScope): Promise<void> {
    for (const link of this.links) await link.erase(scope);
  }

  async drain(withinMs: number): Promise<void> {
    await Promise.all(this.links.map((link) => link.drain(withinMs)));
  }

  async close(): Promise<void> {
    await this.cancels.close();
    await Promise.all(this.links.map((link) => link.close()));
  }
}
