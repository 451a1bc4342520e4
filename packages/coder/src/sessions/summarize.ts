import { type Message, textOfParts } from "@convoke/protocol";
import type { Model, TranscriptEntry } from "@convoke/runtime";

/** The event with which a task records that earlier messages were replaced by a summary. */
export interface CompactedEvent {
  readonly kind: "internal:coder/compacted";
  readonly taskId: string;
  readonly summary: string;
  /** The ids of the messages that the model no longer gets. */
  readonly messages: readonly string[];
  readonly model: string;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
}

const REQUEST =
  "Summarize our conversation so far for yourself: you will continue with only this summary. " +
  "Keep what the user wants, decisions and their reasons, the files that were read or changed and " +
  "how, commands and their results, what failed, and what is left to do. Quote names and paths " +
  "exactly. Write no introduction.";

const INSTRUCTIONS = "You summarize the conversation of a coding agent with its user.";

const CHARACTERS_PER_TOKEN = 4;

/** Asks the model for a summary of messages. */
export async function summarize(
  model: Model,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<Pick<CompactedEvent, "summary" | "model" | "usage">> {
  const transcript: TranscriptEntry[] = [
    { role: "user", parts: [{ kind: "text", text: asText(messages, maxCharacters(model)) }] },
  ];
  let summary = "";
  let usage = { inputTokens: 0, outputTokens: 0 };
  const request = { instructions: INSTRUCTIONS, transcript, tools: [] };
  for await (const event of model.stream(request, signal)) {
    if (event.kind === "text") summary += event.text;
    if (event.kind === "finish") {
      const { inputTokens, outputTokens } = event.usage;
      usage = { inputTokens, outputTokens };
    }
  }
  return { summary: summary.trim(), model: model.id, usage };
}

/** Three quarters of the context window; the rest is for the summary and errors of the estimate. */
function maxCharacters({ contextTokens }: Model): number {
  return contextTokens === undefined ? 400_000 : contextTokens * CHARACTERS_PER_TOKEN * 0.75;
}

/** The messages as one text, of which the oldest are left out if it is too long. */
function asText(messages: readonly Message[], limit: number): string {
  const texts = messages.map(({ role, parts }) => {
    const said = textOfParts(parts);
    return `${role === "user" ? "User" : "Agent"}: ${said}`;
  });
  const all = texts.join("\n\n");
  return `${all.length > limit ? `[…]${all.slice(-limit)}` : all}\n\n${REQUEST}`;
}

/** About how many tokens messages have. */
export function estimatedTokens(messages: readonly Message[]): number {
  const characters = messages.reduce((sum, { parts }) => sum + textOfParts(parts).length, 0);
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
