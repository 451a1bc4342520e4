import type { Metadata } from "@convoke/protocol";
import type { ToolDescription } from "../models/model.ts";
import type { TurnTools } from "./turn-tools.ts";

/** Every task keeps its report, so that a long one must be shorter than its tools want it. */
const MAX_LENGTH = 32_000;

interface ToolFacts {
  readonly name: string;
  readonly description?: string;
  readonly parameterSchema?: ToolDescription["input"];
}

/** From the most that can be told of a tool to the least. */
const DETAILS: readonly ((tool: ToolFacts) => ToolFacts)[] = [
  (tool) => tool,
  ({ name, description = "" }) => ({ name, description }),
  ({ name }) => ({ name }),
];

/**
 * What worked on a task, for people and programs that look at it: the model, each
 * MCP server and sub-agent with its status, and all tools. Where there are too many of them,
 * their schemas are left out, and then their descriptions.
 */
export function runReport(modelId: string | undefined, tools: TurnTools): Metadata {
  const servers = tools.serverReports();
  const subAgents = tools.subAgentReports();
  const available = tools.box.describe().map(({ name, description, input }) => ({
    name,
    description,
    parameterSchema: input,
  }));
  let report: Metadata = {};
  for (const detail of DETAILS) {
    report = {
      ...(modelId !== undefined && { model: modelId }),
      mcpServers: servers.map((server) => ({ ...server, tools: server.tools.map(detail) })),
      availableTools: available.map(detail),
      ...(subAgents.length > 0 && { subAgents }),
    };
    if (JSON.stringify(report).length <= MAX_LENGTH) break;
  }
  return report;
}
