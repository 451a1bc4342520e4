import type { TranscriptEntry } from "../model/model.ts";

const lengths = new WeakMap<TranscriptEntry, number>();

/**
 * Estimates the tokens of an entry. Providers count differently; a quarter of the characters is
 * close.
 */
function estimateTokens(entry: TranscriptEntry): number {
  const known = lengths.get(entry);
  if (known !== undefined) return known;
  const tokens = estimate(entry);
  lengths.set(entry, tokens);
  return tokens;
}

/**
 * The assumed cost of a file of any size. The real cost is unknown, but unrelated to the base64
 * length.
 */
const FILE_TOKENS = 1500;

function estimate(entry: TranscriptEntry): number {
  if (entry.role === "assistant") return tokensOf(JSON.stringify(entry));
  if (entry.role === "tool") {
    return entry.results.reduce((sum, { files = [], ...result }) => {
      return sum + tokensOf(JSON.stringify(result)) + files.length * FILE_TOKENS;
    }, 0);
  }
  return entry.parts.reduce((sum, part) => {
    if (part.kind === "file") return sum + FILE_TOKENS;
    return sum + tokensOf(part.kind === "text" ? part.text : JSON.stringify(part.data));
  }, 0);
}

/** Estimates the tokens of a transcript. */
export function transcriptTokens(transcript: readonly TranscriptEntry[]): number {
  return transcript.reduce((sum, entry) => sum + estimateTokens(entry), 0);
}

const CHARACTERS_PER_TOKEN = 4;

export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / CHARACTERS_PER_TOKEN);
}

export interface Trimmed {
  readonly entries: readonly TranscriptEntry[];
  /** How many entries were left out. */
  readonly left: number;
}

/**
 * Leaves out the oldest entries until the rest fits, and at least as many as were left out before.
 * A tool call is removed together with its result. The message that the task is about and the
 * newest entries are never removed.
 */
export function trim(
  transcript: readonly TranscriptEntry[],
  options: { readonly maxTokens: number; readonly least: number; readonly subject: number },
): Trimmed {
  const { maxTokens, least, subject } = options;
  const units = unitsOf(transcript, subject);
  let tokens = transcriptTokens(transcript);
  let left = 0;
  const gone = new Set<TranscriptEntry>();
  for (const unit of units.slice(0, -1)) {
    const startsWithAnswer = transcript.find((entry) => !gone.has(entry))?.role !== "user";
    if (tokens <= maxTokens && left >= least && !startsWithAnswer) break;
    for (const entry of unit) {
      gone.add(entry);
      tokens -= estimateTokens(entry);
      left += 1;
    }
  }
  if (left === 0) return { entries: transcript, left };
  return { entries: transcript.filter((entry) => !gone.has(entry)), left };
}

/**
 * Groups entries that can only be removed together, oldest first, without the subject of the task.
 */
function unitsOf(
  transcript: readonly TranscriptEntry[],
  subject: number,
): readonly (readonly TranscriptEntry[])[] {
  const units: TranscriptEntry[][] = [];
  for (const [place, entry] of transcript.entries()) {
    if (place === subject) continue;
    const last = units.at(-1);
    if (entry.role === "tool" && last !== undefined) last.push(entry);
    else units.push([entry]);
  }
  return units;
}
