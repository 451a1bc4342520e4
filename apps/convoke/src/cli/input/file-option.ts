import { readFileSync } from "node:fs";
import { basename, extname } from "node:path";
import type { FilePart } from "@convoke/protocol";
import { UsageError } from "../usage-error.ts";

/** What people send most; anything else can be named after a colon. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".log": "text/plain",
  ".md": "text/markdown",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webp": "image/webp",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
  ".zip": "application/zip",
};

/** Reads `--file path[:media type]`. A colon in a path is no trouble: a media type has a slash and no folder. */
export function readFilePart(text: string): FilePart {
  const [, named, type] = /^(.+):([\w.+-]+\/[\w.+-]+)$/s.exec(text) ?? [];
  const path = named ?? text;
  const mimeType = type ?? MEDIA_TYPES[extname(path).toLowerCase()] ?? "application/octet-stream";
  return { kind: "file", file: { name: basename(path), mimeType, bytes: read(path) } };
}

function read(path: string): string {
  try {
    return readFileSync(path, "base64");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "does not exist" : `cannot be read (${code})`;
    throw new UsageError(`--file ${path} ${why}.`);
  }
}
