import type { ModelRequest, TranscriptEntry } from "../model.ts";

/** What the user said last. */
export function lastText({ transcript }: ModelRequest): string {
  const entry = transcript.findLast(({ role }) => role === "user");
  return entry === undefined ? "" : textOf(entry).trim();
}

/** All that was said, for counting. */
export function transcriptText({ instructions = "", transcript }: ModelRequest): string {
  return [instructions, ...transcript.map(textOf)].join(" ");
}

function textOf(entry: TranscriptEntry): string {
  switch (entry.role) {
    case "user":
      return entry.parts.map((part) => (part.kind === "text" ? part.text : "")).join(" ");
    case "assistant":
      return entry.content
        .map((content) => (content.kind === "tool-call" ? content.input : content.text))
        .join(" ");
    case "tool":
      return entry.results.map(({ output }) => JSON.stringify(output ?? null)).join(" ");
  }
}
