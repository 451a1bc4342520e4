import type { Answer } from "@convoke/client";
import {
  ClientError,
  type Message,
  RemoteError,
  type Task,
  type TaskState,
  textOfParts,
} from "@convoke/protocol";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { ContentMaker } from "./result-content.ts";

/**
 * What a call came to. Some hosts show their model the content alone and others
 * the structure alone, so each says everything: what the agent said, and the ids
 * by which it can be gone on with.
 *
 * @param words what is to be said besides, such as how to answer a question
 */
export function callResult({ task, message }: Answer, words?: string): CallToolResult {
  const maker = new ContentMaker(task?.id ?? message?.messageId ?? "message");
  const failure = task && failureOf(task);
  if (failure !== undefined) maker.tell(failure);
  for (const { parts, name } of task?.artifacts ?? []) maker.add(parts, name);
  const said = task === undefined ? message : lastWords(task);
  if (said !== undefined) maker.add(said.parts);
  if (words !== undefined) maker.tell(words);
  const { blocks, text, data, files } = maker.content;
  const contextId = task?.contextId ?? message?.contextId;
  const ids = {
    ...(task && { taskId: task.id }),
    ...(contextId !== undefined && { contextId }),
    ...(task && { state: task.status.state }),
  };
  return {
    content: [...blocks, ...idsBlock(ids)],
    structuredContent: {
      ...ids,
      text,
      ...(data.length > 0 && { data }),
      ...(files.length > 0 && { files }),
    },
    ...(failure !== undefined && { isError: true }),
  };
}

/** A call that came to no answer. The next one may. */
export function failedResult(problem: string): CallToolResult {
  return { content: [{ type: "text", text: problem }], isError: true };
}

/** What went wrong between us and the agent; nothing for a mistake of ours. */
export function problemOf(error: unknown): string | undefined {
  if (error instanceof RemoteError) {
    const code = error.code === undefined ? "" : ` (code ${error.code})`;
    return `The agent answered with an error: ${error.message}${code}`;
  }
  if (!(error instanceof ClientError)) return undefined;
  const again = error.kind === "unreachable" ? " Once it runs again, the next call works." : "";
  return `The agent gave no answer: ${error.message}.${again}`;
}

const FAILED: Partial<Readonly<Record<TaskState, string>>> = {
  failed: "The task failed",
  rejected: "The agent rejected the task",
  canceled: "The task was canceled",
};

function failureOf({ status }: Task): string | undefined {
  const failure = FAILED[status.state];
  if (failure === undefined) return undefined;
  const why = textOfParts(status.message?.parts ?? []);
  return why === "" ? `${failure}.` : `${failure}: ${why}`;
}

/** What a completed task says where its artifacts say nothing. */
function lastWords({ status, artifacts = [], history = [] }: Task): Message | undefined {
  if (status.state !== "completed") return undefined;
  if (artifacts.some(({ parts }) => textOfParts(parts) !== "")) return undefined;
  return status.message ?? history.findLast(({ role }) => role === "agent");
}

function idsBlock(ids: Readonly<Record<string, string>>): CallToolResult["content"] {
  const told = Object.entries(ids).map(([name, value]) => `${name}: ${value}`);
  return told.length === 0 ? [] : [{ type: "text", text: `[${told.join(", ")}]` }];
}
