import type { ClientCapabilities } from "@agentclientprotocol/sdk";
import { isObject } from "@convoke/protocol/internal";
import { resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { codeBlock, shortened } from "./content.ts";
import { type ReportedCall, isOver } from "./reports.ts";

// Commands run where the agent runs, in its sandbox. `terminal/create` would run them in the editor,
// outside the sandbox and without the limits of the agent, so it is not used: the editor only shows
// the output. Editors that have terminals for this say so in the metadata of their capabilities.

/** Under which name an editor receives more output of a command. */
export type TerminalKey = "terminal_output" | "terminal_output_delta";

/** Undefined if the editor has no terminals that an agent can write to. */
export function terminalKey({ _meta: meta }: ClientCapabilities): TerminalKey | undefined {
  if (meta?.["terminal_output_delta"] === true) return "terminal_output_delta";
  return meta?.["terminal_output"] === true ? "terminal_output" : undefined;
}

/** Whether a call runs a command to its end. */
export function runsCommand({ name = "", details, input }: ReportedCall): boolean {
  const { command, argv, background } = isObject(input) ? input : {};
  if (background === true) return false;
  const isCommand = /shell|command|bash|exec/.test(name) && (command ?? argv) !== undefined;
  return isCommand || details?.type === "exec";
}

/** The metadata with which an editor creates the terminal of a call. */
export function newTerminal(
  id: string,
  { details, input }: ReportedCall,
  root: string,
): Readonly<Record<string, unknown>> {
  const { cwd } = details?.type === "exec" ? details : isObject(input) ? input : {};
  const folder = typeof cwd === "string" ? resolve(root, cwd) : root;
  return { terminal_info: { terminal_id: id, cwd: folder } };
}

/** The metadata of an update: what the terminal shows in addition, and how the command ended. */
export function terminalChange(
  key: TerminalKey,
  id: string,
  { before, after }: { readonly before: ReportedCall; readonly after: ReportedCall },
): Readonly<Record<string, unknown>> | undefined {
  const [shown, text] = [outputOf(before), outputOf(after)];
  const data = text.startsWith(shown) ? text.slice(shown.length) : text;
  const { exitCode = null, signal = null } = endOf(after);
  const hasEnded = isOver(after.status) && !isOver(before.status);
  if (data === "" && !hasEnded) return undefined;
  return {
    ...(data !== "" && { [key]: { terminal_id: id, data } }),
    ...(hasEnded && { terminal_exit: { terminal_id: id, exit_code: exitCode, signal } }),
  };
}

/** The output of a command and its end, for an editor without terminals. */
export function commandText(call: ReportedCall): string {
  const output = stripVTControlCharacters(outputOf(call));
  return [
    ...(output === "" ? [] : [codeBlock(shortened(output))]),
    ...(isOver(call.status) ? endLines(call) : []),
  ].join("\n");
}

interface CommandEnd {
  readonly output?: unknown;
  readonly exitCode?: unknown;
  readonly signal?: unknown;
  readonly problem?: unknown;
  readonly timedOut?: unknown;
}

function endOf({ result }: ReportedCall): CommandEnd {
  return isObject(result) ? result : {};
}

/** What was streamed; the task of an earlier session, or another agent, has it only in the result. */
function outputOf(call: ReportedCall): string {
  const { result } = call;
  const output = call.output ?? endOf(call).output ?? result ?? "";
  return typeof output === "string" ? output : JSON.stringify(output, undefined, 2);
}

function endLines(call: ReportedCall): readonly string[] {
  const { exitCode, signal, problem, timedOut } = endOf(call);
  return [
    ...(timedOut === true ? ["The time limit was reached."] : []),
    ...(typeof exitCode === "number" ? [`Exit code ${exitCode}`] : []),
    ...(typeof signal === "string" ? [`Ended by ${signal}`] : []),
    ...[problem, call.error].filter((text) => typeof text === "string"),
  ];
}
