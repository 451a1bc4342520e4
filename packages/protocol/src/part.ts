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

/** A file, carried inside the message or named by its address. */
export interface FilePart {
  readonly kind: "file";
  readonly file: FileContent;
  readonly metadata?: Metadata;
}

/** Exactly one of `bytes` (base64) and `uri` is set. */
export interface FileContent {
  readonly name?: string;
  readonly mimeType?: string;
  readonly bytes?: string;
  readonly uri?: string;
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

/** A text part with nothing but its text. */
export function textPart(text: string): TextPart {
  return { kind: "text", text };
}
