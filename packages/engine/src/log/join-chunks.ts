import { type AgentEvent, type ArtifactUpdateEvent, isPlainText } from "@convoke/protocol";
import type { LogEntry } from "./log-entry.ts";

/**
 * The same fold with fewer steps: neighbouring chunks of text of one artifact
 * become one event. An answer comes in hundreds of them per commit.
 */
export function* joinChunks(entries: readonly LogEntry[]): Generator<AgentEvent, void> {
  let first: ArtifactUpdateEvent | undefined;
  let texts: string[] = [];
  for (const { event } of entries) {
    const text = chunkTextOf(event);
    const chunk = event as ArtifactUpdateEvent;
    if (text !== undefined && first?.artifact.artifactId === chunk.artifact.artifactId) {
      texts.push(text);
      continue;
    }
    if (first !== undefined) yield joined(first, texts);
    first = text === undefined ? undefined : chunk;
    texts = text === undefined ? [] : [text];
    if (text === undefined) yield event;
  }
  if (first !== undefined) yield joined(first, texts);
}

/** The text of an event that does nothing but append it. */
function chunkTextOf(event: AgentEvent): string | undefined {
  if (event.kind !== "artifact-update") return undefined;
  const { artifact, append } = event as ArtifactUpdateEvent;
  const part = artifact.parts[0];
  if (append !== true || part === undefined || artifact.parts.length > 1) return undefined;
  const isBare =
    artifact.name === undefined &&
    artifact.description === undefined &&
    artifact.metadata === undefined &&
    artifact.extensions === undefined;
  return isBare && isPlainText(part) ? part.text : undefined;
}

function joined(first: ArtifactUpdateEvent, texts: readonly string[]): ArtifactUpdateEvent {
  const parts = [{ kind: "text", text: texts.join("") }] as const;
  return { ...first, artifact: { ...first.artifact, parts } };
}
