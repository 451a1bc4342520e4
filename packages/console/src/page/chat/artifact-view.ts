import type { A2AArtifact, A2APart, Task } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { decodeBase64 } from "./base64.ts";

/** How a part of an artifact is shown. */
export type PartView =
  | { readonly kind: "markdown" | "text"; readonly text: string }
  | { readonly kind: "code"; readonly text: string; readonly language: string }
  | { readonly kind: "json"; readonly value: unknown }
  | {
      readonly kind: "table";
      readonly header: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | {
      readonly kind: "diff";
      readonly path: string;
      readonly before?: string;
      readonly after?: string;
    }
  | {
      readonly kind: "image" | "audio" | "video";
      readonly mediaType: string;
      readonly bytes: Bytes;
    }
  | { readonly kind: "link"; readonly uri: string }
  /** Only to be downloaded. */
  | { readonly kind: "file"; readonly mediaType: string; readonly size: number };

type Bytes = Uint8Array<ArrayBuffer>;

/** Images that browsers draw without running anything. */
const IMAGES = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;

const LANGUAGES: Readonly<Record<string, string>> = {
  css: "css",
  html: "xml",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  py: "python",
  sh: "bash",
  svg: "xml",
  ts: "typescript",
  tsx: "typescript",
  xml: "xml",
  yaml: "yaml",
  yml: "yaml",
};

/** Larger texts are shown as they are, without looking at their structure. */
const MAX_PARSED = 1_000_000;

/** How to show a part, by its media type and its name. */
export function viewPart(part: A2APart, artifactName = ""): PartView {
  if (part.kind === "data") return viewData(part.data);
  if (part.kind === "text") {
    const name = part.filename ?? artifactName;
    return viewText(part.text, part.mediaType ?? "", name);
  }
  const { bytes, uri, mimeType = "application/octet-stream", name = artifactName } = part.file;
  if (bytes === undefined) return { kind: "link", uri: uri ?? "" };
  const decoded = decodeBase64(bytes);
  if (decoded === undefined) return { kind: "file", mediaType: mimeType, size: bytes.length };
  return viewBytes(decoded, mimeType, name);
}

function viewBytes(bytes: Bytes, mediaType: string, name: string): PartView {
  if (IMAGES.test(mediaType)) return { kind: "image", mediaType, bytes };
  if (mediaType.startsWith("audio/")) return { kind: "audio", mediaType, bytes };
  if (mediaType.startsWith("video/")) return { kind: "video", mediaType, bytes };
  const isText = /^text\/|json|xml|yaml|javascript|typescript/.test(mediaType);
  if (!isText) return { kind: "file", mediaType, size: bytes.length };
  return viewText(new TextDecoder().decode(bytes), mediaType, name);
}

function viewText(text: string, mediaType: string, name: string): PartView {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (text.length > MAX_PARSED) return { kind: "text", text };
  if (mediaType === "text/markdown" || ending === "md") return { kind: "markdown", text };
  if (mediaType.includes("json") || ending === "json") return viewJson(text);
  if (mediaType === "text/csv" || ending === "csv") return viewCsv(text);
  if (mediaType === "text/x-diff" || ending === "diff" || ending === "patch") {
    return { kind: "code", text, language: "diff" };
  }
  const language = mediaType === "text/html" ? "xml" : LANGUAGES[ending];
  if (language !== undefined) return { kind: "code", text, language };
  // The answer of an agent is Markdown, unless it says otherwise.
  return mediaType === "" && name === "" ? { kind: "markdown", text } : { kind: "text", text };
}

function viewJson(text: string): PartView {
  try {
    return viewData(JSON.parse(text) as unknown);
  } catch {
    return { kind: "text", text };
  }
}

function viewData(value: unknown): PartView {
  if (isObject(value) && typeof value["path"] === "string") {
    const { path, before, after } = value;
    const isDiff = [before, after].some((side) => typeof side === "string");
    if (isDiff) {
      return {
        kind: "diff",
        path,
        ...(typeof before === "string" && { before }),
        ...(typeof after === "string" && { after }),
      };
    }
  }
  const isTable = Array.isArray(value) && value.length > 0 && value.every(isObject);
  if (!isTable) return { kind: "json", value };
  const header = [...new Set(value.flatMap((row) => Object.keys(row)))].slice(0, MAX_COLUMNS);
  return { kind: "table", header, rows: value.map((row) => header.map((name) => cell(row[name]))) };
}

const MAX_COLUMNS = 50;

function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function viewCsv(text: string): PartView {
  const [header = [], ...rows] = parseCsv(text);
  return { kind: "table", header, rows };
}

/** The records of comma-separated values (RFC 4180): quotes may contain commas, line breaks and "". */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const match of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    const [whole, quoted, plain = "", end] = match;
    if (whole === "" && row.length === 0) break;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

/** An artifact as a file: its bytes, its text, or its data as JSON. */
export function toFile({ artifactId, name, parts }: A2AArtifact): {
  readonly name: string;
  readonly content: Blob;
} {
  const fileName = (name ?? artifactId).replaceAll(/[^\w.-]+/g, "_").slice(0, 100) || "artifact";
  const [first] = parts;
  const decoded = first?.kind === "file" ? decodeBase64(first.file.bytes ?? "") : undefined;
  if (parts.length === 1 && first?.kind === "file" && decoded !== undefined) {
    // Downloads never run in the page, whatever they are.
    return { name: fileName, content: new Blob([decoded], { type: "application/octet-stream" }) };
  }
  if (parts.every((part) => part.kind === "text")) {
    return { name: fileName, content: new Blob(parts.map((part) => part.text)) };
  }
  const data: unknown = parts.length === 1 && first?.kind === "data" ? first.data : parts;
  return { name: fileName, content: new Blob([JSON.stringify(data, undefined, 2)]) };
}

/** The address of an image whose bytes came with the task, for Markdown that refers to it by its name. */
export function imageAddress(task: Task | undefined, name: string): string | undefined {
  for (const artifact of task?.artifacts ?? []) {
    for (const part of artifact.parts) {
      if (part.kind !== "file" || part.file.bytes === undefined) continue;
      const { bytes, mimeType = "", name: fileName = artifact.name } = part.file;
      if (fileName === name && IMAGES.test(mimeType)) return `data:${mimeType};base64,${bytes}`;
    }
  }
  return undefined;
}
