import type { Input } from "@convoke/client";
import { type DataPart, type FilePart, textPart } from "@convoke/protocol";
import { type CommandContext, type CommandOption, UsageError } from "../terminal/command.ts";
import { readFileSync } from "node:fs";
import { basename, extname } from "node:path";

/** What a message can contain in addition to text. */
export const INPUT_OPTIONS = {
  file: {
    type: "string",
    value: "<path>[:<media type>]",
    multiple: true,
    help: "Attach this file; can be repeated",
  },
  data: {
    type: "string",
    value: "<json>",
    multiple: true,
    help: "Attach this JSON; can be repeated",
  },
} as const satisfies Record<string, CommandOption>;

/**
 * The message to the agent. The text is an argument, or standard input if the argument is `-` or
 * missing and something is piped in. Files and data alone are enough.
 */
export async function readInput(context: CommandContext): Promise<Input> {
  const [, text, ...more] = context.positionals;
  if (more.length > 0) {
    throw new UsageError(`Put quotes around the text: "${[text, ...more].join(" ")}".`);
  }
  const parts = [
    ...context.texts("file").map(readFilePart),
    ...context.texts("data").map(readDataPart),
  ];
  const said = await textOf(context, text, parts.length > 0);
  if (parts.length === 0) return said;
  return said === "" ? parts : [textPart(said), ...parts];
}

async function textOf(
  { io }: CommandContext,
  argument: string | undefined,
  hasParts: boolean,
): Promise<string> {
  if (argument !== undefined && argument !== "-") return argument;
  if (argument === undefined && hasParts) return "";
  // At a terminal, read standard input only if "-" asks for it.
  const isPiped = io.keyboard === undefined || argument === "-";
  const text = isPiped ? await io.stdin.rest() : "";
  if (text !== "" || hasParts) return text;
  throw new UsageError("The text for the agent is missing.");
}

/** Reads `--data json`. */
function readDataPart(text: string): DataPart {
  try {
    return { kind: "data", data: JSON.parse(text) as unknown };
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be parsed";
    throw new UsageError(`--data is not JSON: ${why}. Put single quotes around it: '{"a":1}'`);
  }
}

/** Common types. Others can be given after a colon. */
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

/** Reads `--file path[:media type]`. Paths may contain colons: the end counts as a media type only if it looks like one. */
function readFilePart(text: string): FilePart {
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
