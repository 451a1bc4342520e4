import type { ArtifactUpdateEvent, PublicEvent, SseEvent, TextPart } from "@convoke/protocol";

/** An agent whose chunks have no frame in common costs no more than this many attempts to find one. */
const MAX_FRAMES = 16;

/**
 * Reads the events of a stream. The chunks of an answer usually differ in nothing but their text, so
 * everything around the text is compared with that of an earlier chunk instead of being parsed again.
 */
export class ChunkReader {
  readonly #read: (sent: SseEvent) => PublicEvent;
  #frame: ChunkFrame | undefined;
  #framesLeft = MAX_FRAMES;

  /** @param read parses and decodes one event */
  constructor(read: (sent: SseEvent) => PublicEvent) {
    this.#read = read;
  }

  read(sent: SseEvent): PublicEvent {
    const event = this.#frame?.read(sent);
    if (event !== undefined) return event;
    const other = this.#read(sent);
    if (this.#framesLeft > 0 && isTextChunk(other)) {
      this.#framesLeft--;
      this.#frame = this.#findFrame(sent, other);
    }
    return other;
  }

  #findFrame(sent: SseEvent, chunk: TextChunk): ChunkFrame | undefined {
    const { data } = sent;
    const [{ text }] = chunk.artifact.parts;
    const token = JSON.stringify(text);
    const start = findValue(data, token);
    if (start === undefined) return undefined;
    const end = start + token.length;
    const after = data.slice(end - 1);
    // Another field may have the same text, so find out whether this is the place of the chunk's.
    const other = this.#read({ ...sent, data: `${data.slice(0, end - 1)}?${after}` });
    const isPlace = isTextChunk(other) && other.artifact.parts[0].text === `${text}?`;
    return isPlace ? new ChunkFrame(chunk, data.slice(0, start + 1), after) : undefined;
  }
}

/** Where a field `text` has this value, in JSON with or without spaces. */
function findValue(data: string, token: string): number | undefined {
  for (const name of ['"text":', '"text": ']) {
    const found = data.indexOf(`${name}${token}`);
    if (found !== -1) return found + name.length;
  }
  return undefined;
}

type TextChunk = ArtifactUpdateEvent & {
  readonly artifact: { readonly parts: readonly [TextPart] };
};

/** Whether an event is a chunk of one text, and everything else in it can be shared between events. */
function isTextChunk(event: PublicEvent): event is TextChunk {
  if (event.kind !== "artifact-update") return false;
  const { artifact, ...others } = event;
  const { parts, ...more } = artifact;
  const [part] = parts;
  const isText = parts.length === 1 && part?.kind === "text";
  return isText && [others, more, part].every(hasOnlyPlainValues);
}

function hasOnlyPlainValues(fields: object): boolean {
  return Object.values(fields).every((value) => typeof value !== "object");
}

/** What is around the text of a chunk. */
class ChunkFrame {
  readonly #chunk: TextChunk;
  /** Up to and including the quotation mark before the text. */
  readonly #before: string;
  /** From the quotation mark after the text. */
  readonly #after: string;

  constructor(chunk: TextChunk, before: string, after: string) {
    this.#chunk = chunk;
    this.#before = before;
    this.#after = after;
  }

  /** Reads a chunk; `undefined` for an event that differs in more than the text. */
  read({ event, data }: SseEvent): ArtifactUpdateEvent | undefined {
    const start = this.#before.length - 1;
    const end = data.length - this.#after.length + 1;
    if (event !== "message" || end - start < 2) return undefined;
    // A slice is compared many bytes at a time, `startsWith` one after the other.
    if (data.slice(0, start + 1) !== this.#before || !data.endsWith(this.#after)) return undefined;
    const text = parseToken(data.slice(start, end));
    if (text === undefined) return undefined;
    const { artifact } = this.#chunk;
    const [part] = artifact.parts;
    return { ...this.#chunk, artifact: { ...artifact, parts: [{ ...part, text }] } };
  }
}

/** Parses a text between quotation marks; `undefined` if it is more than one token. */
function parseToken(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}
