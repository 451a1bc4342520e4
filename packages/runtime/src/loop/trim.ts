import type { TranscriptEntry } from "../model/model.ts";

const lengths = new WeakMap<TranscriptEntry, number>();

/** About how many tokens an entry has. Providers count differently; a quarter of the characters is near. */
function estimateTokens(entry: TranscriptEntry): number {
  const known = lengths.get(entry);
  if (known !== undefined) return known;
  const tokens = estimate(entry);
  lengths.set(entry, tokens);
  return tokens;
}

/** The assumed cost of a file, whatever its size: the real one is unknown, but it is not its base64. */
const FILE_TOKENS = 1500;

function estimate(entry: TranscriptEntry): number {
  if (entry.role !== "user") return tokensOf(JSON.stringify(entry));
  return entry.parts.reduce((sum, part) => {
    if (part.kind === "file") return sum + FILE_TOKENS;
    return sum + tokensOf(part.kind === "text" ? part.text : JSON.stringify(part.data));
  }, 0);
}

const CHARACTERS_PER_TOKEN = 4;

export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / CHARACTERS_PER_TOKEN);
}

export interface Trimmed {
  readonly entries: readonly TranscriptEntry[];
  /** How many were left out. */
  readonly left: number;
}

/**
 * Leaves out the oldest entries until the rest fits, at least as many as were
 * left out before. A tool call goes together with its result, and neither the
 * message that the task is about nor the newest entries are ever left out.
 */
export function trim(
  transcript: readonly TranscriptEntry[],
  options: { readonly maxTokens: number; readonly least: number; readonly subject: number },
): Trimmed {
  const { maxTokens, least, subject } = options;
  const units = unitsOf(transcript, subject);
  let tokens = transcript.reduce((sum, entry) => sum + estimateTokens(entry), 0);
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

/** What may only go together, oldest first, without the entry that stays. */
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
