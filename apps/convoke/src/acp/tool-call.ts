import type { ToolCall, ToolCallContent, ToolKind } from "@agentclientprotocol/sdk";
import type { CallDetails, EditDetails } from "@convoke/coder";
import type { Approval } from "@convoke/protocol";
import { isObject, oneLine } from "@convoke/protocol/internal";
import { resolve } from "node:path";
import { commandText, runsCommand } from "./command-output.ts";
import { codeBlock, jsonBlock, shortened } from "./content.ts";
import type { ReportedCall } from "./reports.ts";

/** How a call is shown. */
export interface CallView {
  /** The folder that paths are relative to. */
  readonly cwd: string;
  /** Whether its output is in a terminal that has the id of the call. */
  readonly hasTerminal: boolean;
}

/** A tool call as an editor shows it. */
export function toToolCall(toolCallId: string, call: ReportedCall, view: CallView): ToolCall {
  const { cwd } = view;
  const { name = "", status = "pending", input, result } = call;
  const path = pathOf(call);
  return {
    toolCallId,
    title: titleOf(call, path),
    ...(name !== "" && { name }),
    kind: kindOf(call),
    status,
    content: contentOf(toolCallId, call, view),
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

function contentOf(
  terminalId: string,
  call: ReportedCall,
  { cwd, hasTerminal }: CallView,
): ToolCallContent[] {
  const { details, error } = call;
  const shown: ToolCallContent[] = details?.type === "edit" ? [changeOf(details, cwd)] : [];
  if (hasTerminal) shown.push({ type: "terminal", terminalId });
  const text = hasTerminal ? error : textOf(call);
  if (text !== undefined && text !== "") shown.push(textContent(text));
  return shown;
}

function textOf(call: ReportedCall): string {
  const { details, output, result, error } = call;
  if (runsCommand(call)) return commandText(call);
  const isChange = details?.type === "edit" && error === undefined;
  return shortened(error ?? output ?? (isChange ? "" : resultText(result)));
}

/** A change with its contents, or its diff as text if they are too long to be sent. */
function changeOf(edit: EditDetails, cwd: string): ToolCallContent {
  const { filePath, oldContent, newContent, diff } = edit;
  if (oldContent === undefined && newContent === undefined && diff !== undefined) {
    return textContent(codeBlock(shortened(diff), "diff"));
  }
  const path = resolve(cwd, filePath);
  return { type: "diff", path, oldText: oldContent ?? null, newText: newContent ?? "" };
}

function textContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

function resultText(result: unknown): string {
  if (result === undefined || result === null) return "";
  return typeof result === "string" ? result : jsonBlock(result);
}
