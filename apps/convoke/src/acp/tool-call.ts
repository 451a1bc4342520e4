import type { ToolCall, ToolCallContent, ToolCallStatus, ToolKind } from "@agentclientprotocol/sdk";
import type { CallDetails, EditDetails } from "@convoke/coder";
import type { Approval } from "@convoke/protocol";
import { isObject, oneLine } from "@convoke/protocol/internal";
import { resolve } from "node:path";
import { jsonBlock } from "./content.ts";

/** What is known about a tool call, whichever extension reports it. */
export interface ReportedCall {
  readonly name?: string;
  readonly title?: string;
  readonly status?: ToolCallStatus;
  readonly input?: unknown;
  readonly details?: CallDetails;
  /** What it has written so far. */
  readonly output?: string;
  readonly result?: unknown;
  readonly error?: string;
}

/** A tool call as an editor shows it. */
export function toToolCall(toolCallId: string, call: ReportedCall, cwd: string): ToolCall {
  const { name = "", status = "pending", input, result } = call;
  const path = pathOf(call);
  return {
    toolCallId,
    title: titleOf(call, path),
    ...(name !== "" && { name }),
    kind: kindOf(call),
    status,
    content: contentOf(call, cwd),
    ...(path !== undefined && { locations: [{ path: resolve(cwd, path), ...lineOf(input) }] }),
    ...(input !== undefined && { rawInput: input }),
    ...(result !== undefined && { rawOutput: result }),
  };
}

/** What an approval says about its call. */
export function callOf({ tool, title, preview }: Approval): ReportedCall {
  const { name, arguments: input } = tool;
  if (preview?.kind !== "diff") return { name, title, input };
  const { path: filePath, before, after } = preview;
  const details: CallDetails = {
    type: "edit",
    filePath,
    ...(before !== undefined && { oldContent: before }),
    ...(after !== undefined && { newContent: after }),
  };
  return { name, title, input, details };
}

/** The kinds of tools by the words in their names: editors choose icons by them. */
const KINDS: readonly (readonly [RegExp, ToolKind])[] = [
  [/delete|remove/, "delete"],
  [/move|rename/, "move"],
  [/write|edit|patch|replace|create/, "edit"],
  [/search|glob|grep|find/, "search"],
  [/shell|run|exec|command|terminal|bash/, "execute"],
  [/fetch|http|url|browse|download/, "fetch"],
  [/plan|think|todo/, "think"],
  [/mode/, "switch_mode"],
  [/read|list|view|get|show|open/, "read"],
];

function kindOf({ name = "", details }: ReportedCall): ToolKind {
  if (details?.type === "exec") return "execute";
  const named = KINDS.find(([words]) => words.test(name.toLowerCase()))?.[1];
  if (details?.type === "edit") return named === "delete" || named === "move" ? named : "edit";
  return named ?? "other";
}

function titleOf(call: ReportedCall, path: string | undefined): string {
  const { title, name = "", details, input } = call;
  if (title !== undefined) return title;
  if (details?.type === "exec") return oneLine(details.command);
  const label = name === "" ? "Tool call" : name.replaceAll("_", " ");
  const heading = `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
  const subject = path ?? Object.values(isObject(input) ? input : {}).find(isText);
  return subject === undefined ? heading : oneLine(`${heading} ${subject}`);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** The file that the call is about. */
function pathOf({ details, input }: ReportedCall): string | undefined {
  if (details?.type === "edit") return details.filePath;
  const fields = isObject(input) ? input : {};
  return ["path", "file_path", "filePath", "file"].map((name) => fields[name]).find(isText);
}

/** The first line that a call reads. */
function lineOf(input: unknown): { readonly line?: number } {
  const { offset } = isObject(input) ? input : {};
  return Number.isInteger(offset) && (offset as number) > 0 ? { line: offset as number } : {};
}

/** Editors receive the whole content with every update, so a long output is shown from its end. */
const MAX_SHOWN = 16_384;

function contentOf({ details, output, result, error }: ReportedCall, cwd: string) {
  const content: ToolCallContent[] = details?.type === "edit" ? [changeOf(details, cwd)] : [];
  const isChange = details?.type === "edit" && error === undefined;
  const text = error ?? output ?? (isChange ? undefined : resultText(result));
  if (text !== undefined && text !== "") content.push(textContent(text));
  return content;
}

/** A change with its contents, or its diff as text if they are too long to be sent. */
function changeOf(edit: EditDetails, cwd: string): ToolCallContent {
  const { filePath, oldContent, newContent, diff } = edit;
  if (oldContent === undefined && newContent === undefined && diff !== undefined) {
    return textContent(`\`\`\`diff\n${diff}\n\`\`\``);
  }
  const path = resolve(cwd, filePath);
  return { type: "diff", path, oldText: oldContent ?? null, newText: newContent ?? "" };
}

function textContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text: shortened(text) } };
}

function resultText(result: unknown): string | undefined {
  if (result === undefined || result === null) return undefined;
  return typeof result === "string" ? result : jsonBlock(result);
}

function shortened(text: string): string {
  return text.length <= MAX_SHOWN ? text : `…${text.slice(-MAX_SHOWN)}`;
}
