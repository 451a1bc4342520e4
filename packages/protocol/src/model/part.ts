/** Free-form data that travels with messages, parts, tasks and events. */
export type Metadata = Readonly<Record<string, unknown>>;

/** A piece of text. */
export interface TextPart {
  readonly kind: "text";
  readonly text: string;
  /** 1.0 only: what the text is, for example `text/markdown`. */
  readonly mediaType?: string;
  /** 1.0 only. */
  readonly filename?: string;
  readonly metadata?: Metadata;
}

/** A file, embedded in the message or referenced by its URI. */
export interface FilePart {
  readonly kind: "file";
  readonly file: FileContent;
  readonly metadata?: Metadata;
}

/** Exactly one of `bytes` (base64), `uri` and `stored` is set. */
export interface FileContent {
  readonly name?: string;
  readonly mimeType?: string;
  readonly bytes?: string;
  readonly uri?: string;
  /** Where the server keeps the content of a large file. Only agents see it; clients get bytes or a URI. */
  readonly stored?: StoredFile;
}

/** The content of a file that is kept next to the log of a task. */
export interface StoredFile {
  /** The task that it belongs to. It is deleted with that task. */
  readonly taskId: string;
  /** The SHA-256 of the content, in hexadecimal digits. */
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
}

/** Structured data. 0.3 allows objects only; 1.0 allows any JSON value. */
export interface DataPart {
  readonly kind: "data";
  readonly data: unknown;
  /** 1.0 only. */
  readonly mediaType?: string;
  /** 1.0 only. */
  readonly filename?: string;
  readonly metadata?: Metadata;
}

/** One piece of a message or an artifact. */
export type A2APart = TextPart | FilePart | DataPart;

// The same types with the prefix of `A2APart` and `A2AArtifact`.
export type A2ATextPart = TextPart;
export type A2AFilePart = FilePart;
export type A2ADataPart = DataPart;

/** Creates a text part without metadata. */
export function textPart(text: string): TextPart {
  return { kind: "text", text };
}

/** The text of all text parts, concatenated. */
export function textOfParts(parts: readonly A2APart[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/**
 * Appends parts. Adjacent chunks of plain text become one part, which keeps the snapshot of a
 * streamed answer readable and makes appending n chunks linear.
 */
export function joinParts(parts: readonly A2APart[], more: readonly A2APart[]): readonly A2APart[] {
  const [only] = parts;
  const [first] = more;
  const isOneText = parts.length === 1 && more.length === 1 && isPlainText(only!);
  if (isOneText && isPlainText(first!)) return [joined(only, first)];
  return joinAll(parts, [more]);
}

/** Appends many chunks in order; see {@link joinParts}. */
export function joinAll(
  parts: readonly A2APart[],
  chunks: Iterable<readonly A2APart[]>,
): readonly A2APart[] {
  const all = [...parts];
  for (const chunk of chunks) {
    const last = all.at(-1);
    const [first] = chunk;
    const isText = last !== undefined && first !== undefined && isPlainText(last);
    if (!isText || !isPlainText(first)) {
      all.push(...chunk);
      continue;
    }
    all[all.length - 1] = joined(last, first);
    for (let place = 1; place < chunk.length; place++) all.push(chunk[place]!);
  }
  return all;
}

function joined(one: TextPart, other: TextPart): TextPart {
  return { kind: "text", text: one.text + other.text };
}

/** Whether the part is text without metadata, media type or filename. */
export function isPlainText(part: A2APart): part is TextPart {
  return (
    part.kind === "text" &&
    part.metadata === undefined &&
    part.mediaType === undefined &&
    part.filename === undefined
  );
}

/**
 * The parts to append to `shorter` to get `longer`, or `undefined` if `longer` does not start with
 * `shorter`: the inverse of {@link joinParts}. The caller decides when two parts are the same.
 */
export function partsAfter(
  longer: readonly A2APart[],
  shorter: readonly A2APart[],
  isSame: (one: unknown, other: unknown) => boolean,
): readonly A2APart[] | undefined {
  const last = shorter.length - 1;
  for (const [place, part] of shorter.entries()) {
    const other = longer[place];
    if (isSame(part, other)) continue;
    if (place !== last || part.kind !== "text" || other?.kind !== "text") return undefined;
    if (!isSame({ ...other, text: "" }, { ...part, text: "" })) return undefined;
    if (!other.text.startsWith(part.text)) return undefined;
    return [{ ...other, text: other.text.slice(part.text.length) }, ...longer.slice(place + 1)];
  }
  return longer.slice(shorter.length);
}
