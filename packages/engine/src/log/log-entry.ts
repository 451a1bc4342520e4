import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  CODECS,
  type Codec,
  type PublicEvent,
  type TextPart,
  isPublic,
} from "@convoke/protocol";
import type { Seq, StoredEvent } from "./backend.ts";
import { formatCursor } from "./cursor.ts";

/** An event of a log. */
export interface LogPlace {
  readonly seq: Seq;
  /** See `StoredEvent.epoch`. */
  readonly epoch?: number | undefined;
}

/**
 * An event of a log with its serialized form. The text for each wire dialect is
 * created once and shared by all readers.
 */
export class LogEntry {
  readonly event: AgentEvent;
  readonly json: string;
  readonly #template: ChunkTemplate | undefined;
  /** The position in the log; 0 until `at` sets it. A plain field, because readers look at it for every event. */
  seq: Seq = 0;
  /** The epoch of the run that wrote it, if processes share the storage. */
  epoch: number | undefined = undefined;
  /** Which of several entries for one event it is, from 1; undefined for the last one. */
  #nth: number | undefined;
  #hasReference: boolean | undefined;
  #text03: string | undefined;
  #text03Proto: string | undefined;
  /** Empty if one reader has had it: most entries have no other, and it is kept only for chunks. */
  #text10: string | undefined;

  constructor(event: AgentEvent, json: string, template?: ChunkTemplate) {
    this.event = event;
    this.json = json;
    this.#template = template;
  }

  /** Sets the position in the log. */
  at(seq: Seq, epoch: number | undefined, nth?: number): this {
    this.seq = seq;
    this.epoch = epoch;
    this.#nth = nth;
    return this;
  }

  /** The cursor after which a stream resumes. */
  get cursor(): number | string {
    const { seq, epoch } = this;
    if (epoch === undefined && this.#nth === undefined) return seq;
    return formatCursor({ seq, epoch, shown: this.#nth });
  }

  /**
   * Whether it is one of a sequence of chunks with nothing but text. Its event can be encoded as it is;
   * other events of an agent may contain what only JSON can express.
   */
  get isPlainChunk(): boolean {
    return this.#template !== undefined;
  }

  /**
   * Whether it may have a reference to a large file, which no client can read. A plain chunk has none;
   * in other entries it is looked up once for all readers, in the text.
   */
  get mayHaveReference(): boolean {
    if (this.isPlainChunk) return false;
    return (this.#hasReference ??= this.json.includes(REFERENCE));
  }

  /** The entry of another event at the same position. */
  with(event: AgentEvent): LogEntry {
    return new LogEntry(event, JSON.stringify(event)).at(this.seq, this.epoch, this.#nth);
  }

  /** The event as a client of that dialect receives it, or `undefined` if the event is internal. */
  text(codec: Codec): string | undefined {
    const { event, json } = this;
    if (!isPublic(event)) return undefined;
    switch (codec.dialect) {
      case "0.3":
        // A plain chunk looks the same in 0.3 and in the model.
        return (this.#text03 ??=
          this.#template === undefined ? codec.eventText(event, json) : json);
      case "0.3-proto":
        return (this.#text03Proto ??= codec.eventText(event, json));
      case "1.0":
        return this.#text10 || this.#createText10(event, codec);
      default:
        return codec.dialect satisfies never;
    }
  }

  #createText10(event: PublicEvent, codec: Codec): string {
    const { json } = this;
    if (this.#template !== undefined) return (this.#text10 = this.#template.v1(json));
    const text = codec.eventText(event, json);
    const isKept = this.#text10 !== undefined || json.length > SMALL_LENGTH;
    this.#text10 = isKept ? text : "";
    return text;
  }
}

/** A text up to this length is cheaper to create twice than to keep for as long as its task is open. */
const SMALL_LENGTH = 1024;

/** How the JSON of a `StoredFile` begins in a file part. */
const REFERENCE = '"stored":{"taskId":';

/** Parses a stored event. */
export function readEntry({ seq, json, epoch }: StoredEvent): LogEntry {
  return new LogEntry(JSON.parse(json) as AgentEvent, json).at(seq, epoch);
}

/**
 * Parses events of one log that follow each other. Most events of a stream are chunks that differ only
 * in their text, so the JSON around the text is compared with that of an earlier chunk instead of being
 * parsed again.
 */
export function readEntries(stored: readonly StoredEvent[]): LogEntry[] {
  const templates = new ChunkTemplates();
  return stored.map((one) => {
    const { seq, json, epoch } = one;
    const chunk = templates.last?.read(json);
    if (chunk !== undefined) return new LogEntry(chunk, json, templates.last).at(seq, epoch);
    const entry = readEntry(one);
    if (isPlainChunk(entry.event)) templates.find(entry.event);
    return entry;
  });
}

/**
 * Serializes the events of one task. Most events of a stream are chunks that
 * differ only in their text, so the JSON around the text is created once: five
 * times cheaper than serializing each event, with identical bytes.
 */
export class EventSerializer {
  readonly #templates = new ChunkTemplates();

  /** The entry for an event. Its sequence is set when it is committed. */
  entry(event: AgentEvent): LogEntry {
    if (!isPlainChunk(event)) return new LogEntry(event, JSON.stringify(event));
    const template = this.#templates.find(event);
    if (template === undefined) return new LogEntry(event, JSON.stringify(event));
    return new LogEntry(event, template.model(event.artifact.parts[0].text), template);
  }
}

/** The template of chunks that follow each other. It is made for the second one of its kind. */
class ChunkTemplates {
  #last: ChunkTemplate | undefined;
  /** The last chunk without a template. */
  #first: PlainChunk | undefined;

  get last(): ChunkTemplate | undefined {
    return this.#last;
  }

  find(chunk: PlainChunk): ChunkTemplate | undefined {
    if (this.#last?.fits(chunk)) return this.#last;
    const isSecond =
      this.#first?.artifact.artifactId === chunk.artifact.artifactId &&
      this.#first.append === chunk.append;
    this.#first = chunk;
    if (isSecond) this.#last = new ChunkTemplate(chunk);
    return isSecond ? this.#last : undefined;
  }
}

/** A tail has the newest commits: at least this many, or as many as have this many entries. */
const TAIL_COMMITS = 4;
const TAIL_ENTRIES = 1024;

/** Up to this many entries, a list is replaced: `push` would reserve space for 16 more, which a task that waits does not need. */
const FEW_ENTRIES = 4;

/**
 * The entries of the newest commits of a log, kept in memory so that readers that keep up never query the
 * store. A reader that falls further behind reads pages from the store. Few are kept, because entries
 * that live for long make the garbage collector work: it copies them twice.
 */
export class LogTail {
  /** The entries before `newer`. They are forgotten together, so that the cost per entry is constant. */
  #older: readonly LogEntry[] = NO_ENTRIES;
  #newer: LogEntry[] = [];
  /** How many commits `newer` is from. */
  #commits = 0;

  /** Adds the entries of a commit. */
  add(entries: readonly LogEntry[]): void {
    if (entries.length === 0) return;
    if (this.#commits >= TAIL_COMMITS || this.#newer.length >= TAIL_ENTRIES) {
      this.#older = this.#newer;
      this.#newer = [];
      this.#commits = 0;
    }
    this.#commits += 1;
    if (this.#newer.length < FEW_ENTRIES) this.#newer = this.#newer.concat(entries);
    else this.#newer.push(...entries);
  }

  /** Forgets everything, because the log has other events now. */
  clear(): void {
    this.#older = NO_ENTRIES;
    this.#newer = [];
    this.#commits = 0;
  }

  /** Up to `limit` entries after `after`, or `undefined` if some of them are no longer in memory. */
  after(after: Seq, limit: number): readonly LogEntry[] | undefined {
    const [first] = this.#newer;
    if (first === undefined) return undefined;
    const start = after + 1 - first.seq;
    if (start >= 0) return this.#newer.slice(start, start + limit);
    const place = this.#older.length + start;
    return place < 0 ? undefined : [...this.#older.slice(place), ...this.#newer].slice(0, limit);
  }
}

const NO_ENTRIES: readonly LogEntry[] = [];

/** A chunk of an artifact that carries nothing but text. */
interface PlainChunk extends ArtifactUpdateEvent {
  readonly append: boolean;
  readonly artifact: { readonly artifactId: string; readonly parts: readonly [TextPart] };
}

function isPlainChunk(event: AgentEvent): event is PlainChunk {
  if (event.kind !== "artifact-update") return false;
  const { artifact, append } = event as ArtifactUpdateEvent;
  const part = artifact.parts[0];
  return (
    append !== undefined &&
    part?.kind === "text" &&
    artifact.parts.length === 1 &&
    // The template contains exactly these fields, so an event with any other field does not fit.
    countFields(event) === 5 &&
    countFields(artifact) === 2 &&
    countFields(part) === 2
  );
}

/** Counts without allocating a list, because it runs for every chunk of every stream. */
function countFields(object: object): number {
  let count = 0;
  for (const _ in object) count += 1;
  return count;
}

/** The JSON of an event before and after its text. */
type Frame = readonly [before: string, after: string];

/** The JSON around the text of one artifact's chunks, in the model and in 1.0. */
class ChunkTemplate {
  /** A chunk without text. */
  readonly #empty: PlainChunk;
  readonly #model: Frame;
  /** Created for the first reader of 1.0. */
  #v1: Frame | undefined;

  constructor(chunk: PlainChunk) {
    this.#empty = withText(chunk, "");
    this.#model = splitAtText(JSON.stringify(this.#empty));
  }

  fits({ artifact, append }: PlainChunk): boolean {
    return this.#empty.artifact.artifactId === artifact.artifactId && this.#empty.append === append;
  }

  /** The chunk as JSON of the model, byte for byte what `JSON.stringify` returns. */
  model(text: string): string {
    return this.#model[0] + JSON.stringify(text) + this.#model[1];
  }

  /** The chunk with this JSON of the model; `undefined` for an event that differs in more than the text. */
  read(json: string): PlainChunk | undefined {
    const [before, after] = this.#model;
    // A slice is compared many bytes at a time, `startsWith` one after the other.
    if (json.slice(0, before.length) !== before || !json.endsWith(after)) return undefined;
    const text = parseText(json.slice(before.length, json.length - after.length));
    return text === undefined ? undefined : withText(this.#empty, text);
  }

  /** The same chunk as 1.0 JSON. */
  v1(model: string): string {
    const [before, after] = this.#model;
    const text = model.slice(before.length, model.length - after.length);
    this.#v1 ??= splitAtText(CODECS["1.0"].eventText(this.#empty, `${before}""${after}`));
    return this.#v1[0] + text + this.#v1[1];
  }
}

function withText(chunk: PlainChunk, text: string): PlainChunk {
  const { artifact } = chunk;
  const [part] = artifact.parts;
  return { ...chunk, artifact: { ...artifact, parts: [{ ...part, text }] } };
}

/** Parses a JSON text; `undefined` for anything else, such as a text and more fields after it. */
function parseText(json: string): string | undefined {
  try {
    const text: unknown = JSON.parse(json);
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Splits at the empty text. Quotes inside other strings are escaped, so the match is unique. */
function splitAtText(json: string): Frame {
  const mark = '"text":""';
  const start = json.indexOf(mark) + mark.length - 2;
  return [json.slice(0, start), json.slice(start + 2)];
}
