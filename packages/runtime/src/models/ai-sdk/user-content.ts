import type { A2APart, DataPart, FileContent } from "@convoke/protocol";
import type { AiSdkFileData, AiSdkModel, AiSdkUserContent, SupportedUrls } from "./ai-sdk-model.ts";

/** What a model takes of files. */
export interface FileRules {
  readonly version: AiSdkModel["specificationVersion"];
  readonly supportedUrls: SupportedUrls;
}

/** A part of a message to the agent, as the model sees it. */
export function userContentOf(part: A2APart, rules: FileRules): AiSdkUserContent[] {
  switch (part.kind) {
    case "text":
      return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
    case "data":
      return [{ type: "text", text: dataText(part) }];
    case "file":
      return [fileContentOf(part.file, rules)];
  }
}

function dataText({ data, mediaType, filename }: DataPart): string {
  const label = [filename && `"${filename}"`, mediaType && `(${mediaType})`].filter(Boolean);
  return `${["Data", ...label].join(" ")}:\n${fenced("json", JSON.stringify(data, null, 2) ?? "null")}`;
}

function fileContentOf(file: FileContent, rules: FileRules): AiSdkUserContent {
  const inline = inlineFile(file);
  if (inline === undefined) return linkedFileOf(file, rules);
  const { bytes, mediaType } = inline;
  if (mediaType === undefined) {
    const note = `${nameOf(file)} came along. Its type is not known, so it cannot be shown to you.`;
    return { type: "text", text: note };
  }
  if (isText(mediaType)) {
    const text = Buffer.from(bytes, "base64").toString("utf8");
    return { type: "text", text: `${nameOf(file)} (${mediaType}):\n${fenced("", text)}` };
  }
  const data: AiSdkFileData = rules.version === "v4" ? { type: "data", data: bytes } : bytes;
  return { type: "file", mediaType, ...(file.name && { filename: file.name }), data };
}

/** Nothing is fetched here: a file whose address the provider does not read itself is only named. */
function linkedFileOf(file: FileContent, rules: FileRules): AiSdkUserContent {
  const { uri = "", mimeType, name } = file;
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  if (url === undefined || mimeType === undefined || !reads(rules.supportedUrls, mimeType, uri)) {
    const type = mimeType === undefined ? "" : ` (${mimeType})`;
    return { type: "text", text: `${nameOf(file)}${type} is at ${uri}` };
  }
  const data: AiSdkFileData = rules.version === "v4" ? { type: "url", url } : url;
  return { type: "file", mediaType: mimeType, ...(name && { filename: name }), data };
}

function nameOf({ name }: FileContent): string {
  return name === undefined ? "A file" : `The file "${name}"`;
}

function reads(supported: SupportedUrls, mediaType: string, uri: string): boolean {
  return Object.entries(supported).some(
    ([pattern, urls]) =>
      matches(pattern.toLowerCase(), mediaType.toLowerCase()) &&
      urls.some((url) => url.test(uri.toLowerCase())),
  );
}

function matches(pattern: string, mediaType: string): boolean {
  if (pattern === "*" || pattern === "*/*" || pattern === mediaType) return true;
  return pattern.endsWith("/*") && mediaType.startsWith(pattern.slice(0, -1));
}

/** A fence that the content cannot close. */
function fenced(language: string, content: string): string {
  const longest = (content.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${content}\n${fence}`;
}

interface InlineFile {
  /** Base64. */
  readonly bytes: string;
  readonly mediaType: string | undefined;
}

/** The content of a file that came along, also inside of a `data:` address. */
function inlineFile({ bytes, uri = "", mimeType }: FileContent): InlineFile | undefined {
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
function isText(mediaType: string): boolean {
  const [type = ""] = mediaType.toLowerCase().split(";");
  return (
    type.startsWith("text/") ||
    /^application\/(.+\+)?(json|xml|yaml|toml)$/.test(type) ||
    ["application/javascript", "application/x-yaml", "application/x-ndjson"].includes(type)
  );
}
