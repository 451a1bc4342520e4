import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import type { ConfirmRule } from "../tools/tool.ts";
import { type McpServerSettings, isRule } from "./mcp-settings.ts";

/**
 * Whether calls of a tool need approval. What the operator says counts; otherwise
 * a tool that only reads does not, and one that does not say what it does, does.
 */
export function confirmByAnnotations(
  { name: server, confirm }: McpServerSettings,
  { name, annotations }: ServerTool,
): ConfirmRule {
  if (isRule(confirm)) return confirm;
  if (confirm !== undefined && Object.hasOwn(confirm, name)) return confirm[name]!;
  if (annotations?.readOnlyHint === true) return "never";
  const words = {
    // Its name, and not its title: that may promise anything.
    title: `${server}: ${name.slice(0, 100)}`,
    risk: annotations?.destructiveHint === false ? "info" : "warning",
  } as const;
  return () => words;
}
