import type { Metadata, Turn } from "@convoke/protocol";
import type { AssistantContent, ResultFile, ToolResultEntry } from "../model/model.ts";
import { callHook } from "./hooks.ts";
import type { Source, ToolCompleteEvent } from "./loop-events.ts";
import type { LoopScope } from "./loop-scope.ts";
import type { DelegatedUsage } from "../tools/tool.ts";

export type ToolCall = AssistantContent & { readonly kind: "tool-call" };

/** The result of one tool call. */
export interface CallResult extends ToolResultEntry {
  /** The call was not approved. */
  readonly isDeclined: boolean;
  readonly sources: readonly Source[];
  /** The usage of sub-agents for this call. */
  readonly used?: DelegatedUsage | undefined;
  /** Where the operator's log has the cause, if the tool failed. */
  readonly errorId?: string | undefined;
}

/** Restores a result from the journal. Its files are in the artifacts of the task. */
export function notedResult(
  noted: ToolCompleteEvent,
  { findArtifact }: Pick<Turn, "findArtifact">,
): CallResult {
  const { toolCallId, toolName, output, success, isDeclined = false, sources = [], used } = noted;
  const files = (noted.files ?? []).flatMap((artifactId): readonly ResultFile[] => {
    const part = findArtifact?.(artifactId)?.parts.find(({ kind }) => kind === "file");
    return part?.kind === "file" ? [{ artifactId, file: part.file }] : [];
  });
  return { toolCallId, toolName, output, isError: !success, isDeclined, sources, used, files };
}

/** The part of a result that the model reads. */
export function toldResult(result: CallResult): ToolResultEntry {
  const { toolCallId, toolName, output, isError, files = [] } = result;
  return { toolCallId, toolName, output, isError, ...(files.length > 0 && { files }) };
}

/** Records a result, after the author's `afterTool` hook has had a chance to change it. */
export async function completeCall(
  scope: LoopScope,
  input: Metadata,
  result: CallResult,
): Promise<CallResult> {
  const { toolCallId, toolName, isDeclined, sources, used, errorId } = result;
  const { output, isError, files = [] } = result;
  const { hooks } = scope.settings;
  const hooked = { toolCallId, toolName, input, output, isError };
  const given = await callHook("afterTool", () => hooks.afterTool?.(hooked, scope.turn));
  const complete = given === undefined ? result : { ...result, ...given };
  scope.note({
    kind: "internal:tool-complete",
    toolName,
    toolCallId,
    success: !complete.isError,
    output: complete.output,
    ...(files.length > 0 && { files: files.map(({ artifactId }) => artifactId) }),
    ...(isDeclined && { isDeclined }),
    ...(sources.length > 0 && { sources }),
    ...(used && { used }),
    ...(errorId !== undefined && { errorId }),
  });
  return complete;
}
