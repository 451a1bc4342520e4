import type { FileContent } from "@convoke/protocol";

interface InlineFile {
  /** Base64. */
  readonly bytes: string;
  readonly mediaType: string | undefined;
}

/** The content of a file that came along, also inside of a `data:` address. */
export function inlineFile({ bytes, uri = "", mimeType }: FileContent): InlineFile | undefined {
  if (bytes !== undefined) return { bytes, mediaType: mimeType };
  const [, head, body] = /^data:([^,]*),(.*)$/is.exec(uri) ?? [];
  if (head === undefined || body === undefined) return undefined;
  const mediaType = mimeType ?? (head.split(";")[0] || undefined);
  if (/;base64$/i.test(head)) return { bytes: body, mediaType };
  return { bytes: Buffer.from(unescaped(body)).toString("base64"), mediaType };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether a file of this type is shown to a model as text. */
export function isText(mediaType: string): boolean {
  const [type = ""] = mediaType.toLowerCase().split(";");
  return (
    type.startsWith("text/") ||
    /^application\/(.+\+)?(json|xml|yaml|toml)$/.test(type) ||
    ["application/javascript", "application/x-yaml", "application/x-ndjson"].includes(type)
  );
}
