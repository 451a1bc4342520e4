import { invalidParams } from "../errors.ts";
import type { Metadata } from "../part.ts";
import { checkOf } from "../wire/check.ts";
import type { Schema } from "../wire/schema/schema.ts";
import { argumentSchema } from "./argument-schema.ts";
import { dataField, extensionData } from "./extension-data.ts";
import { EXTENSIONS } from "./extensions.ts";

/** A tool that the caller runs, as its message declares it. */
export interface ClientTool {
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema of the arguments. */
  readonly inputSchema?: Metadata;
}

/** `message.metadata["<uri>"]`. */
export interface ClientTools {
  readonly tools: readonly ClientTool[];
}

/** What a data part stands for: `part.metadata["<uri>"].type`. */
export type ToolPartType = "tool-use" | "tool-result" | "input-request";

/** The `data` of a `tool-use` part: the agent wants the caller to run a tool. */
export interface ToolUse {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: Metadata;
}

/** The `data` of a `tool-result` part: exactly one of the two. */
export interface ToolResult {
  readonly toolUseId: string;
  readonly result?: unknown;
  /** The tool failed; the agent is told why. */
  readonly error?: string;
}

const FIELD = dataField("message.metadata", EXTENSIONS.clientTools.uri);

export const CLIENT_TOOLS: Schema = {
  type: "object",
  required: ["tools"],
  properties: {
    tools: {
      type: "array",
      maxItems: 128,
      items: {
        type: "object",
        required: ["name"],
        properties: {
          // What the providers of models take.
          name: { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" },
          description: { type: "string", maxLength: 4096 },
          inputSchema: { type: "object" },
        },
      },
    },
  },
};

export const TOOL_RESULT: Schema = {
  type: "object",
  required: ["toolUseId"],
  properties: {
    toolUseId: { type: "string", minLength: 1, maxLength: 256 },
    error: { type: "string" },
  },
};

const checkTools = checkOf(CLIENT_TOOLS);
const checkResult = checkOf(TOOL_RESULT);

/** The tools that a message declares, if it does. Only where the extension is active. */
export function declaredTools(metadata: Metadata | undefined): readonly ClientTool[] {
  const data = extensionData(metadata, EXTENSIONS.clientTools.uri);
  if (data === undefined) return [];
  checkTools(data, FIELD);
  const { tools } = data as ClientTools;
  const names = new Set<string>();
  for (const [place, { name, inputSchema }] of tools.entries()) {
    const field = `${FIELD}.tools[${place}]`;
    if (names.has(name)) throw invalidParams(`${field}.name`, `repeats ${name}`);
    names.add(name);
    if (inputSchema !== undefined) argumentSchema(inputSchema, `${field}.inputSchema`);
  }
  return tools;
}

/** What a tool came to. */
export function toolResult(data: unknown, field: string): ToolResult {
  checkResult(data, field);
  const result = data as ToolResult;
  if (Object.hasOwn(result, "result") === (result.error !== undefined)) {
    throw invalidParams(field, "must have either result or error");
  }
  return result;
}
