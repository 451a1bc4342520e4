import { invalidParams } from "../model/errors.ts";
import type { Message } from "../model/message.ts";
import type { Metadata } from "../model/part.ts";
import { compileCheck } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import { argumentSchema } from "./argument-schema.ts";
import { EXTENSIONS, dataField, dataOfType, extensionData } from "./extensions.ts";

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

/** The meaning of a data part: `part.metadata["<uri>"].type`. */
export type ToolPartType = "tool-use" | "tool-result" | "input-request";

/** The `data` of a `tool-use` part: the agent wants the caller to run a tool. */
export interface ToolUse {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: Metadata;
}

/** The `data` of a `tool-result` part: exactly one of `result` and `error`. */
export interface ToolResult {
  readonly toolUseId: string;
  readonly result?: unknown;
  /** Why the tool failed, for the agent. */
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
          // What model providers accept.
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

const checkTools = compileCheck(CLIENT_TOOLS);

/** The tools that a message declares. Call it only if the extension is active. */
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

const checkResult = compileCheck(TOOL_RESULT);

/** Returns the data as a tool result, or throws an error that names the invalid field. */
export function toolResult(data: unknown, field: string): ToolResult {
  checkResult(data, field);
  const result = data as ToolResult;
  if (Object.hasOwn(result, "result") === (result.error !== undefined)) {
    throw invalidParams(field, "must have either result or error");
  }
  return result;
}

/** The tool calls that a message requests. Malformed ones are ignored. */
export function toolUsesIn(message: Message): readonly ToolUse[] {
  return dataOfType(message, EXTENSIONS.clientTools.uri, "tool-use").flatMap(({ data }) => {
    const { toolUseId, name, input } = (data ?? {}) as Readonly<Record<string, unknown>>;
    const isCall =
      typeof toolUseId === "string" &&
      typeof name === "string" &&
      typeof input === "object" &&
      input !== null;
    return isCall ? [{ toolUseId, name, input: input as Metadata }] : [];
  });
}
