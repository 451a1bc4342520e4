import { type AgentExtension, EXTENSIONS, type ExtensionName } from "@convoke/protocol";
import { McpServers } from "../mcp/mcp-servers.ts";
import type { LoopDefinition } from "./loop-settings.ts";

/** What the card of an agent with a model declares: what its author named, and what the loop does. */
export function declaredExtensions(
  given: readonly AgentExtension[] = [],
  definition: LoopDefinition,
): readonly AgentExtension[] {
  const names: ExtensionName[] = ["budget"];
  if (mayAsk(definition)) names.push("approvals");
  if (definition.clientTools !== false) names.push("clientTools");
  const own = names.map((name) => EXTENSIONS[name]);
  // In the words of its author, if there are some.
  const unnamed = own.filter(({ uri }) => !given.some((extension) => extension.uri === uri));
  return [
    ...given,
    ...unnamed.map(({ uri, description }) => ({ uri, description, required: false })),
  ];
}

/** Whether a call may wait for somebody's decision. */
function mayAsk({ tools = [], mcpServers = {}, subAgents = {} }: LoopDefinition): boolean {
  // Which tools a server has is not known before it runs.
  const hasServers = mcpServers instanceof McpServers || Object.keys(mcpServers).length > 0;
  const hasSubAgents = Object.keys(subAgents).length > 0;
  return hasServers || hasSubAgents || tools.some(({ confirm }) => confirm !== "never");
}
