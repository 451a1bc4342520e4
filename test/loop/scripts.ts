import type { AgentEvent, Task } from "@convoke/protocol";
import {
  type AgentLoop,
  type ModelRequest,
  type Tool,
  type TranscriptEntry,
  tool,
} from "@convoke/runtime";
import type { ScriptStep } from "@convoke/runtime/testing";

/** The model calls a tool. */
export function calls(toolName: string, input: unknown = {}, toolCallId?: string): ScriptStep {
  return { kind: "tool-call", toolName, input, ...(toolCallId !== undefined && { toolCallId }) };
}

/** A tool that returns its arguments. */
export function echoTool(overrides: Partial<Parameters<typeof tool>[0]> = {}): Tool {
  return tool({
    name: "echo",
    description: "Says what it is told.",
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    run: ({ text }: { readonly text?: unknown }) => `echo ${String(text)}`,
    ...overrides,
  });
}

/** The tool results that the model received, request by request. */
export function resultsTold(requests: readonly ModelRequest[]): readonly unknown[] {
  return (requests.at(-1)?.transcript ?? []).flatMap((entry) =>
    entry.role === "tool" ? entry.results.map(({ output }) => output) : [],
  );
}

/** The transcript of the last request, with roles. */
export function told(transcript: readonly TranscriptEntry[]): readonly string[] {
  return transcript.map((entry) => {
    if (entry.role === "user") return `user: ${JSON.stringify(entry.parts)}`;
    if (entry.role === "tool") return `tool: ${JSON.stringify(entry.results)}`;
    return `assistant: ${JSON.stringify(entry.content)}`;
  });
}

/** All events of an Observable. */
export function eventsOf(source: ReturnType<AgentLoop["execute"]>): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  return new Promise((resolve, reject) => {
    source.subscribe({
      next: (event) => void events.push(event),
      error: reject,
      complete: () => resolve(events),
    });
  });
}

/** The text of the final status or question of a task. */
export function statusText({ status }: Task): string {
  return (status.message?.parts ?? [])
    .map((part) => (part.kind === "text" ? part.text : ""))
    .join("");
}
