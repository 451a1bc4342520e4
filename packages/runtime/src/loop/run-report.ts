import type { Metadata, Task } from "@convoke/protocol";
import type { LoopSettings } from "../run/loop-settings.ts";
import type { ToolDescription } from "../model/model.ts";
import { describeSubAgent } from "../sub-agent-calls/run-sub-agents.ts";
import type { TurnTools } from "./turn-tools.ts";

/**
 * Reports on the tasks of an agent: what works on them, or would. While a turn of the task is in
 * this process, the report has the tools of that turn; otherwise those that the agent has now.
 */
export class RunReports {
  readonly #settings: LoopSettings;
  readonly #turns = new Map<string, TurnTools>();

  constructor(settings: LoopSettings) {
    this.#settings = settings;
  }

  begin(taskId: string, tools: TurnTools): void {
    this.#turns.set(taskId, tools);
  }

  end(taskId: string, tools: TurnTools): void {
    if (this.#turns.get(taskId) === tools) this.#turns.delete(taskId);
  }

  /** The whole report on a task. */
  task({ id, contextId, status }: Task): Metadata {
    return { id, contextId, taskState: status.state, ...this.agent(id) };
  }

  /**
   * The model, each MCP server and sub-agent with its status, and all tools. If the report is too
   * long, the schemas of the tools are left out, and then their descriptions.
   */
  agent(taskId: string): Metadata {
    const { model, mcp, subAgents } = this.#settings;
    const tools = this.#turns.get(taskId)?.box.describe() ?? this.toolsNow();
    const servers = mcp?.report() ?? [];
    const agents = subAgents?.report() ?? [];
    const available = tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      parameterSchema: inputSchema,
    }));
    let report: Metadata = {};
    for (const detail of DETAILS) {
      report = {
        model: model.id,
        mcpServers: servers.map((server) => ({ ...server, tools: server.tools.map(detail) })),
        availableTools: available.map(detail),
        ...(agents.length > 0 && { subAgents: agents }),
      };
      if (JSON.stringify(report).length <= MAX_LENGTH) break;
    }
    return report;
  }

  /** The agent's own tools, its sub-agents, and the tools of the MCP servers that are connected. */
  toolsNow(): readonly ToolDescription[] {
    const { tools, mcp, subAgents, isPermitted } = this.#settings;
    const own = tools.describe();
    const agents = (subAgents?.links ?? []).map(describeSubAgent);
    const taken = new Set([...own, ...agents].map(({ name }) => name));
    const served = (mcp?.report() ?? [])
      .flatMap((server) => server.tools)
      .filter(({ name }) => !taken.has(name))
      .map(({ name, description, parameterSchema: inputSchema }) => ({
        name,
        description,
        inputSchema,
      }));
    return [...own, ...agents, ...served].filter(({ name }) => isPermitted(name));
  }
}

interface ToolFacts {
  readonly name: string;
  readonly description?: string;
  readonly parameterSchema?: ToolDescription["inputSchema"];
}

/** From the most detailed description of a tool to the shortest. */
const DETAILS: readonly ((tool: ToolFacts) => ToolFacts)[] = [
  (tool) => tool,
  ({ name, description = "" }) => ({ name, description }),
  ({ name }) => ({ name }),
];

/** The last status of every task stores a report, so its length is limited. */
const MAX_LENGTH = 32_000;
