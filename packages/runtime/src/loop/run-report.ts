import type { Metadata, Task } from "@convoke/protocol";
import type { LoopSettings } from "../run/loop-settings.ts";
import type { ToolDescription } from "../model/model.ts";
import { describeSubAgent } from "../sub-agent-calls/run-sub-agents.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import type { TurnTools } from "./turn-tools.ts";

/** What a report reads of a run. */
export interface ReportedRun {
  readonly tools: TurnTools;
  readonly scope: Pick<LoopScope, "model">;
}

/**
 * Reports on the tasks of an agent: what works on them, or would. While a turn of the task is in
 * this process, the report has the tools of that turn; otherwise those that the agent has now.
 */
export class RunReports {
  readonly #settings: LoopSettings;
  readonly #runs = new Map<string, ReportedRun>();

  constructor(settings: LoopSettings) {
    this.#settings = settings;
  }

  begin(taskId: string, run: ReportedRun): void {
    this.#runs.set(taskId, run);
  }

  end(taskId: string, run: ReportedRun): void {
    if (this.#runs.get(taskId) === run) this.#runs.delete(taskId);
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
    const { models, mcp, subAgents } = this.#settings;
    const run = this.#runs.get(taskId);
    const tools = run?.tools.box.describe() ?? this.toolsNow();
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
        model: (run?.scope.model ?? models.first).id,
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
