import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  RegisteredTool,
  ServerContext,
} from "@modelcontextprotocol/server";
import { isDeepStrictEqual } from "node:util";
import type { SkillTool } from "./skill-tools.ts";
import { TOOL_INPUT, type ToolInput } from "./tool-input.ts";

/** Calls a skill. */
export type CallSkill = (
  tool: SkillTool,
  input: ToolInput,
  context: ServerContext,
) => Promise<CallToolResult | InputRequiredResult>;

/** The tools that a host is shown. It is told when they change. */
export class ToolList {
  readonly #server: McpServer;
  readonly #call: CallSkill;
  readonly #shown = new Map<string, { readonly tool: SkillTool; readonly entry: RegisteredTool }>();

  constructor(server: McpServer, call: CallSkill) {
    this.#server = server;
    this.#call = call;
  }

  show(tools: readonly SkillTool[]): void {
    const wanted = new Map(tools.map((tool) => [tool.name, tool]));
    for (const [name, { tool, entry }] of this.#shown) {
      if (isDeepStrictEqual(wanted.get(name), tool)) continue;
      entry.remove();
      this.#shown.delete(name);
    }
    for (const [name, tool] of wanted) if (!this.#shown.has(name)) this.#add(tool);
  }

  #add(tool: SkillTool): void {
    const { name, title, description } = tool;
    const entry = this.#server.registerTool(
      name,
      // Nobody knows what an agent does, so it is not said that it only reads.
      { title, description, inputSchema: TOOL_INPUT, annotations: { openWorldHint: true } },
      (input, context) => this.#call(tool, input, context),
    );
    this.#shown.set(name, { tool, entry });
  }
}
