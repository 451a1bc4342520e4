/** The text of a file, and what is needed to write it back as it was. */
export interface TextFile {
  /** The text with `\n` as line ending, without a byte order mark. */
  readonly text: string;
  readonly format: TextFormat;
}

export interface TextFormat {
  /** The line ending of the whole file. A file that mixes them is read and written as it is. */
  readonly lineEnding: "\n" | "\r\n";
  readonly hasByteOrderMark: boolean;
}

/** The format of new files. */
export const PLAIN: TextFormat = { lineEnding: "\n", hasByteOrderMark: false };

const BYTE_ORDER_MARK = "\uFEFF";

/** Decodes a file; undefined if it is not UTF-8 text. */
export function decodeText(bytes: Uint8Array): TextFile | undefined {
  if (isBinary(bytes)) return undefined;
  let whole: string;
  try {
    whole = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  const hasByteOrderMark = whole.startsWith(BYTE_ORDER_MARK);
  const text = hasByteOrderMark ? whole.slice(1) : whole;
  const isWindows = text.includes("\r\n") && !/(?<!\r)\n|\r(?!\n)/.test(text);
  return isWindows
    ? { text: text.replaceAll("\r\n", "\n"), format: { lineEnding: "\r\n", hasByteOrderMark } }
    : { text, format: { lineEnding: "\n", hasByteOrderMark } };
}

export function encodeText(text: string, { lineEnding, hasByteOrderMark }: TextFormat): Buffer {
  const ended = lineEnding === "\n" ? text : text.replace(/\r?\n/g, lineEnding);
  return Buffer.from(hasByteOrderMark ? BYTE_ORDER_MARK + ended : ended);
}

/** The number of bytes in which a NUL byte marks a file as binary. */
const SNIFFED = 64 * 1024;

export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SNIFFED).includes(0);
}

const SIGNATURES: readonly (readonly [mediaType: string, start: string])[] = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF8"],
  ["application/pdf", "%PDF-"],
];

/** The media type of an image or a PDF document, by its first bytes; undefined for the rest. */
export function viewableType(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (start.startsWith("RIFF") && start.endsWith("WEBP")) return "image/webp";
  return SIGNATURES.find(([, signature]) => start.startsWith(signature))?.[0];
}
