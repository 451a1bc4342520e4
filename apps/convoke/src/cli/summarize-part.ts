import { type A2AArtifact, type A2APart } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";

/** What an artifact holds besides text, one line each; a terminal is no place for files. */
export function summarizeParts({ name, artifactId, parts }: A2AArtifact): readonly string[] {
  return parts
    .filter((part) => part.kind !== "text")
    .map((part) => oneLine(`artifact ${name ?? artifactId}: ${describeFile(part)}`));
}

/** A part that is no text, in a few words. */
export function describeFile(part: Exclude<A2APart, { kind: "text" }>): string {
  if (part.kind === "data") return `data ${JSON.stringify(part.data)}`;
  const { name, mimeType, bytes, uri } = part.file;
  const size = bytes === undefined ? undefined : sizeOf(bytes);
  return ["file", name, mimeType, size, uri].filter((word) => word !== undefined).join(" ");
}

/** From the length of the base64, without decoding it. */
function sizeOf(base64: string): string {
  const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
