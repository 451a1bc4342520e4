import type { A2APart, RawCard } from "@convoke/protocol";
import { encodeBase64 } from "./base64.ts";

/** A file or JSON that is sent with the next message. */
export interface Attachment {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly part: A2APart;
}

/** Larger files do not fit into a message, which is JSON. */
const MAX_BYTES = 8_000_000;

let lastId = 0;

/** The media types that an agent accepts: those of its card and of its skills. */
export function inputModes(card: RawCard): readonly string[] {
  const skills = Array.isArray(card["skills"]) ? (card["skills"] as readonly RawCard[]) : [];
  const all = [card["defaultInputModes"], ...skills.map((skill) => skill?.["inputModes"])];
  const modes = all.flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []));
  return [...new Set(modes.filter((mode) => typeof mode === "string"))];
}

/** Whether one of the modes covers a media type. Text of any kind is text. */
export function isAccepted(modes: readonly string[], mediaType: string): boolean {
  const [family] = mediaType.split("/");
  return modes.some((mode) => {
    if (mode === mediaType || mode === "*/*" || mode === `${family}/*`) return true;
    return mode === "text/plain" && family === "text";
  });
}

/** The media type of a file; browsers leave it empty for endings that they do not know. */
export function mediaTypeOf({ name, type }: Pick<File, "name" | "type">): string {
  if (type !== "") return type.split(";")[0]!;
  if (/\.jsonl?$/i.test(name)) return "application/json";
  return /\.(?:md|txt|csv|log|ya?ml|toml|ts|tsx|js|py|sh|sql|xml)$/i.test(name)
    ? "text/plain"
    : "application/octet-stream";
}

/** Reads a file for a message. Rejects with the reason if the agent does not accept it. */
export async function attachFile(file: File, modes: readonly string[]): Promise<Attachment> {
  const mediaType = mediaTypeOf(file);
  if (!isAccepted(modes, mediaType)) {
    throw new Error(
      `${file.name}: the agent does not accept ${mediaType}. It accepts ${modes.join(", ")}.`,
    );
  }
  if (file.size > MAX_BYTES) {
    throw new Error(`${file.name} is larger than ${MAX_BYTES / 1_000_000} MB.`);
  }
  const bytes = encodeBase64(new Uint8Array(await file.arrayBuffer()));
  return {
    id: ++lastId,
    name: file.name,
    size: file.size,
    part: { kind: "file", file: { name: file.name, mimeType: mediaType, bytes } },
  };
}

/** JSON as a data part. Rejects text that is not JSON. */
export function attachJson(text: string): Attachment {
  const data = JSON.parse(text) as unknown;
  return { id: ++lastId, name: "JSON", size: text.length, part: { kind: "data", data } };
}
