import type { PublicEvent } from "@convoke/protocol";
import { type Call, type Reply, stream } from "../../../../test/client/fake-agent.ts";
import type { RunNotice } from "./follow-options.ts";

// What a 1.0 agent sends about task t1 in context c1, as on the wire.

const ids = { taskId: "t1", contextId: "c1" };

export function aTask(state: string, more: object = {}): object {
  return { task: { id: "t1", contextId: "c1", status: statusOf(state), ...more } };
}

export function aStatus(state: string, text?: string): object {
  return { statusUpdate: { ...ids, status: statusOf(state, text) } };
}

export function aChunk(text: string, artifactId = "a1", append = true): object {
  return { artifactUpdate: { ...ids, artifact: { artifactId, parts: [{ text }] }, append } };
}

export function anArtifact(text: string, artifactId = "a1"): object {
  return { artifactId, parts: [{ text }] };
}

function statusOf(state: string, text?: string): object {
  const message = { messageId: `m-${text}`, role: "ROLE_AGENT", parts: [{ text }] };
  return { state: `TASK_STATE_${state}`, ...(text !== undefined && { message }) };
}

/** Events with the ids that follow `after`; without it they have none. */
export function frames(
  call: Call,
  results: readonly unknown[],
  options: { readonly after?: number; readonly end?: Reply["end"] } = {},
): Reply {
  const { after, end } = options;
  const written = results.map((value, place) => {
    const id = after === undefined ? "" : `id: ${after + place + 1}\n`;
    return `${id}data: ${JSON.stringify({ jsonrpc: "2.0", id: call.id, result: value })}\n\n`;
  });
  return stream(written.join(""), end);
}

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of source) all.push(value);
  return all;
}

/** The events in short. */
export function outline(events: readonly PublicEvent[]): readonly string[] {
  return events.map((event) => {
    if (event.kind === "message") return "message";
    if (event.kind === "artifact-update") return `artifact ${textIn(event.artifact.parts)}`;
    return `${event.kind === "task" ? "task" : "status"} ${event.status.state}`;
  });
}

function textIn(parts: readonly { readonly kind: string }[]): string {
  return parts.map((part) => ("text" in part ? String(part.text) : part.kind)).join("");
}

/** Records the state changes of a run. */
export function aListener(): {
  readonly notices: RunNotice[];
  readonly onNotice: (notice: RunNotice) => void;
} {
  const notices: RunNotice[] = [];
  return { notices, onNotice: (notice) => notices.push(notice) };
}
