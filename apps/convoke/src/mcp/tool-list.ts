import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  RegisteredTool,
  ServerContext,
  StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { isDeepStrictEqual } from "node:util";
import type { SkillTool } from "./skill-tools.ts";

const FIELDS = {
  message: {
    type: "string",
    description:
      "The message to the agent. With taskId it may be empty: then the call only waits for the task.",
  },
  contextId: {
    type: "string",
    description: "Continues the conversation of an earlier result with this id.",
  },
  taskId: {
    type: "string",
    description: "Answers the task of an earlier result that is waiting for an answer.",
  },
} as const;

const JSON_SCHEMA = {
  type: "object",
  properties: FIELDS,
  required: ["message"],
  additionalProperties: false,
};

/** The same for every skill: A2A has no schema for the input of a skill. */
const TOOL_INPUT: StandardSchemaWithJSON<unknown, ToolInput> = {
  "~standard": {
    version: 1,
    vendor: "convoke",
    jsonSchema: { input: () => JSON_SCHEMA, output: () => JSON_SCHEMA },
    validate: (value) => {
      const problem = problemOf(value);
      return problem === undefined
        ? { value: value as ToolInput }
        : { issues: [{ message: problem }] };
    },
  },
};

/** Calls a skill. */
export type CallSkill = (
  tool: SkillTool,
  input: ToolInput,
  context: ServerContext,
) => Promise<CallToolResult | InputRequiredResult>;

/** The tools of an MCP server. The host is notified when they change. */
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
      // An agent may do anything, so there is no read-only hint.
      { title, description, inputSchema: TOOL_INPUT, annotations: { openWorldHint: true } },
      (input, context) => this.#call(tool, input, context),
    );
    this.#shown.set(name, { tool, entry });
  }
}

/** The arguments of a tool call. */
export interface ToolInput {
  /** May be empty only with a `taskId`: then nothing is sent, and the call waits for the task. */
  readonly message: string;
  readonly contextId?: string;
  readonly taskId?: string;
}

/** Names the field and the fix, so that a model can correct its call. */
function problemOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return 'the arguments must be an object such as { "message": "Hello" }';
  }
  const given = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(FIELDS);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    return `there is no argument ${JSON.stringify(unknown)}; the arguments are ${names.join(", ")}`;
  }
  const { message, contextId, taskId } = given;
  if (typeof message !== "string") return "message must be a string: the message to the agent";
  for (const [name, id] of Object.entries({ contextId, taskId })) {
    if (id === undefined || (typeof id === "string" && id !== "")) continue;
    return `${name} must be an id from an earlier result; leave it out to start a new one`;
  }
  if (message.trim() !== "" || taskId !== undefined) return undefined;
  return "message is empty; write a message to the agent";
}
