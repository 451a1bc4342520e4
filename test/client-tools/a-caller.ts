import {
  type DataPart,
  EXTENSIONS,
  type Metadata,
  type Task,
  type ToolUse,
  toolUsesIn,
} from "@convoke/protocol";

export const CLIENT_TOOLS = EXTENSIONS.clientTools.uri;

/** For worlds whose callers activate the extension. */
export const ACTIVE: ReadonlySet<string> = new Set([CLIENT_TOOLS]);

export const READ_FILE = {
  name: "read_file",
  description: "Reads a file of the user.",
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
  },
};

/** The metadata of a message that declares tools. */
export function declaring(...tools: readonly object[]): { readonly metadata: Metadata } {
  return { metadata: { [CLIENT_TOOLS]: { tools } } };
}

/** The part with the result of a tool. */
export function resultPart(
  toolUseId: string,
  came: { result?: unknown; error?: string },
): DataPart {
  const data = { toolUseId, ...came };
  return { kind: "data", data, metadata: { [CLIENT_TOOLS]: { type: "tool-result" } } };
}

/** What a task asks its caller to run. */
export function usesOf({ status }: Task): readonly ToolUse[] {
  return status.message === undefined ? [] : toolUsesIn(status.message);
}
