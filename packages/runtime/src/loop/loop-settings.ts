import type { Turn } from "@convoke/protocol";
import { type GrantStore, memoryGrants } from "../approvals/grants.ts";
import {
  type ClientToolOptions,
  type ClientToolSettings,
  clientToolSettings,
} from "../client-tools/client-tool-settings.ts";
import type { McpOptions } from "../mcp/mcp-config.ts";
import type { ModelOptions, ModelSpec } from "../models/model-options.ts";
import type { Model } from "../models/model.ts";
import { resolveModel } from "../models/resolve-model.ts";
import { AgentSubAgents } from "../sub-agents/agent-sub-agents.ts";
import type { SubAgentsDefinition } from "../sub-agents/sub-agent-definition.ts";
import { subAgentSettings } from "../sub-agents/sub-agent-settings.ts";
import { ToolBox } from "../tools/tool-box.ts";
import type { Tool } from "../tools/tool.ts";
import { AgentIdentity } from "./agent-identity.ts";
import { AgentMcpServers, type McpServersDefinition } from "./agent-mcp-servers.ts";
import { DEFAULT_RETRY, type RetryRule } from "./backoff.ts";
import { type Budget, budgetOf } from "./budget.ts";
import type { LoopHooks } from "./hooks.ts";

/** How an agent with a model thinks and works. */
export interface LoopDefinition {
  /** `anthropic:…`, `openai:…`, `google:…`, `ollama:…`, an OpenAI-compatible URL, a model object, or "demo". */
  readonly model: ModelSpec;
  readonly modelOptions?: ModelOptions;
  /** What the model is told before everything else. */
  readonly instructions?: string | ((turn: Turn) => string);
  readonly tools?: readonly Tool[];
  readonly budget?: Budget;
  /**
   * Whether work may come back to this agent by way of others. By default it is refused: most often
   * two agents hand it to each other until a limit is reached.
   */
  readonly allowsCycles?: boolean;
  readonly hooks?: LoopHooks;
  /** How many tools run at the same time; by default 5. */
  readonly maxParallelTools?: number;
  /** How many characters of a tool's output the model is told; by default 65536. */
  readonly toolOutputLimit?: number;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly retry?: Partial<RetryRule>;
  readonly approvals?: ApprovalSettings;
  /**
   * MCP servers whose tools it has as well, by name. Where the agent is served they start behind it,
   * because its card shows what they have; else, and without `mcpSkills`, nothing starts before a turn
   * needs it. The end of the agent ends them. A `McpServers` that you made is yours to close.
   */
  readonly mcpServers?: McpServersDefinition;
  /** Whether the tools of connected servers are skills on its card; by default they are. */
  readonly mcpSkills?: boolean;
  /** What holds for all of them. */
  readonly mcpOptions?: McpOptions;
  /**
   * Other agents that it may call, by the names of their tools: an address, an agent of this
   * process, or more of either. What they ask for is asked here, and what they do ends with the task.
   */
  readonly subAgents?: SubAgentsDefinition;
  /**
   * How it uses tools that its callers declare and run themselves; false takes none. By default a
   * call waits five minutes, and then the model goes on without it.
   */
  readonly clientTools?: ClientToolOptions | false;
}

export interface ApprovalSettings {
  /** How long an approval may stay open. By default for as long as its task waits. */
  readonly expiresInMs?: number;
  /**
   * Whether a message that says just "approve" or "yes" approves, and "reject"
   * with words behind it rejects, when one approval and nothing else is open. By
   * default so for callers that have not activated the extension, and have no
   * other way to answer. "reject" and "no" alone always reject.
   */
  readonly plainWords?: boolean;
  /** Remembers what is always approved. By default for as long as the process runs. */
  readonly grants?: GrantStore;
}

/** The same with every default, checked. */
export interface LoopSettings {
  readonly agentName: string;
  readonly identity: AgentIdentity;
  readonly allowsCycles: boolean;
  /** Resolved when it is first needed: a server shows its card before it loads any provider. */
  readonly model: () => Promise<Model>;
  readonly instructions: LoopDefinition["instructions"];
  readonly tools: ToolBox;
  readonly budget: Budget;
  readonly hooks: LoopHooks;
  readonly maxParallelTools: number;
  readonly toolOutputLimit: number;
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly retry: RetryRule;
  readonly approvals: ApprovalSettings & { readonly grants: GrantStore };
  readonly mcp: AgentMcpServers | undefined;
  readonly subAgents: AgentSubAgents | undefined;
  /** Nothing where it takes none. */
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
  return {
    agentName,
    identity: new AgentIdentity(agentName),
    allowsCycles: definition.allowsCycles ?? false,
    model: lazily(() => resolveModel(definition.model, definition.modelOptions)),
    instructions: definition.instructions,
    tools: new ToolBox(definition.tools ?? []),
    budget: budgetOf(definition.budget),
    hooks: definition.hooks ?? {},
    maxParallelTools,
    toolOutputLimit,
    maxOutputTokens: definition.maxOutputTokens,
    temperature: definition.temperature,
    retry,
    approvals: { ...approvals, grants: approvals.grants ?? memoryGrants() },
    mcp: agentMcpServers(definition),
    subAgents: agentSubAgents(agentName, definition),
    clientTools: clientToolSettings(definition.clientTools),
  };
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

/** Once it has succeeded, it is kept; a failure, such as a missing key, may be mended meanwhile. */
function lazily(resolve: () => Promise<Model>): () => Promise<Model> {
  let model: Promise<Model> | undefined;
  return () => {
    model ??= resolve().catch((error: unknown) => {
      model = undefined;
      throw error;
    });
    return model;
  };
}

function checkWhole(name: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) {
    throw new TypeError(`${name} must be a whole number above 0, not ${value}`);
  }
}
