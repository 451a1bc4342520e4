import { type ApprovalPreview, type Approval, type DataPart, EXTENSIONS } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { posix } from "node:path";

/** What a tool call would do, or did. */
export type CallDetails = EditDetails | CommandDetails | McpDetails | InfoDetails;

/** A change of one file. */
export interface EditDetails {
  readonly type: "edit";
  /** Absolute. */
  readonly filePath: string;
  /** Absent if the file is new. */
  readonly oldContent?: string;
  /** Absent if the file is deleted. */
  readonly newContent?: string;
  /** A unified diff. */
  readonly diff?: string;
  /**
   * The argument of the tool that takes the whole new content of the file, so that the caller can
   * edit the change before it approves it. Absent if the tool has none.
   */
  readonly contentArgument?: string;
}

/** A command line. */
export interface CommandDetails {
  readonly type: "exec";
  readonly command: string;
  /** The programs that the command line runs, in order. */
  readonly commands: readonly string[];
  readonly cwd?: string;
}

/** A tool of an MCP server. */
export interface McpDetails {
  readonly type: "mcp";
  readonly serverName: string;
  readonly toolName: string;
}

/** Anything else. */
export interface InfoDetails {
  readonly type: "info";
  readonly prompt: string;
  readonly urls?: readonly string[];
}

const { uri } = EXTENSIONS.coder;

/** The preview of a change of a file, for the `confirm` rule of a tool. */
export function editPreview(edit: Omit<EditDetails, "type">): DataPart {
  const { filePath: path, oldContent: before, newContent: after, ...rest } = edit;
  return marked("edit", { path, before, after, ...rest });
}

/** The preview of a command line, for the `confirm` rule of a tool. */
export function commandPreview(command: Omit<CommandDetails, "type">): DataPart {
  const { cwd } = command;
  const text = `${cwd === undefined ? "" : `${cwd} `}$ ${command.command}`;
  return marked("exec", { text, ...command });
}

/** The preview of a call to an MCP server, for the `confirm` rule of a tool. */
export function mcpPreview(call: Omit<McpDetails, "type">): DataPart {
  return marked("mcp", { text: `${call.serverName}: ${call.toolName}`, ...call });
}

function marked(type: CallDetails["type"], data: object): DataPart {
  return { kind: "data", data, metadata: { [uri]: { type } } };
}

/** The name under which a tool notes the details of a call: `{ kind: "tool:note", name, data }`. */
export const DETAILS_NOTE = "call-details";

/** The details of a call that waits for an approval. */
export function detailsOf({ preview, prompt, title }: Approval): CallDetails {
  const fields = preview?.metadata?.[uri];
  if (preview?.kind === "diff") return editDetails(preview, isObject(fields) ? fields : {});
  return isDetails(fields) ? fields : { type: "info", prompt: prompt ?? title };
}

/** Whether a note, or what a preview has of the extension, are the details of a call. */
export function isDetails(data: unknown): data is CallDetails {
  if (!isObject(data)) return false;
  switch (data["type"]) {
    case "edit":
      return typeof data["filePath"] === "string";
    case "exec":
      return typeof data["command"] === "string" && Array.isArray(data["commands"]);
    case "mcp":
      return typeof data["serverName"] === "string" && typeof data["toolName"] === "string";
    case "info":
      return typeof data["prompt"] === "string";
    default:
      return false;
  }
}

function editDetails(
  { path, before, after }: Extract<ApprovalPreview, { kind: "diff" }>,
  { diff, contentArgument }: Readonly<Record<string, unknown>>,
): EditDetails {
  return {
    type: "edit",
    filePath: path,
    ...(before !== undefined && { oldContent: before }),
    ...(after !== undefined && { newContent: after }),
    ...(typeof diff === "string" && { diff }),
    ...(typeof contentArgument === "string" && { contentArgument }),
  };
}

/** The name of the file without its folder. */
export function fileNameOf({ filePath }: EditDetails): string {
  return posix.basename(filePath.replaceAll("\\", "/"));
}
