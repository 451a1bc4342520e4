import type { A2APart, DataPart, FileContent } from "@convoke/protocol";
import type {
  AssistantContent,
  ModelRequest,
  ProviderData,
  ResultFile,
  ToolResultEntry,
  TranscriptEntry,
} from "../../model/model.ts";
import type {
  AiSdkAssistantContent,
  AiSdkFileData,
  AiSdkMessage,
  AiSdkModel,
  AiSdkResultContent,
  AiSdkToolOutput,
  AiSdkUserContent,
  SupportedUrls,
} from "./ai-sdk-model.ts";

/** Which files a model accepts. */
export interface FileRules {
  /** For example `anthropic.messages`. */
  readonly provider: string;
  readonly version: AiSdkModel["specificationVersion"];
  readonly supportedUrls: SupportedUrls;
}

/** The messages of entries that one model has been sent. */
export type SentMessages = WeakMap<TranscriptEntry, AiSdkMessage>;

/**
 * Converts the transcript to an AI SDK prompt. Empty entries are left out, because providers reject
 * them.
 *
 * @param sent each turn sends the whole transcript again, so an entry is converted only once
 */
export function promptOf(
  request: ModelRequest,
  rules: FileRules,
  sent: SentMessages,
): AiSdkMessage[] {
  const { instructions = "", transcript } = request;
  const messages: AiSdkMessage[] =
    instructions.trim() === "" ? [] : [{ role: "system", content: instructions }];
  for (const entry of transcript) {
    const message = sent.get(entry) ?? messageOf(entry, rules);
    sent.set(entry, message);
    if (message.content.length > 0) messages.push(message);
  }
  return messages;
}

function messageOf(entry: TranscriptEntry, rules: FileRules): AiSdkMessage {
  switch (entry.role) {
    case "user":
      return {
        role: "user",
        content: entry.parts.flatMap((part) => userContentOf(part, rules)),
      };
    case "assistant":
      return { role: "assistant", content: entry.content.flatMap(assistantContentOf) };
    case "tool":
      return {
        role: "tool",
        content: entry.results.map(({ toolCallId, toolName, ...result }) => ({
          type: "tool-result",
          toolCallId,
          toolName,
          output: outputOf(result, rules),
        })),
      };
  }
}

function assistantContentOf(content: AssistantContent): AiSdkAssistantContent[] {
  switch (content.kind) {
    case "text":
      return content.text.trim() === "" ? [] : [{ type: "text", text: content.text }];
    case "reasoning":
      if (content.text === "" && content.provider === undefined) return [];
      return [{ type: "reasoning", text: content.text, ...back(content.provider) }];
    case "tool-call": {
      const { toolCallId, toolName, input, provider } = content;
      return [
        { type: "tool-call", toolCallId, toolName, input: argumentsOf(input), ...back(provider) },
      ];
    }
  }
}

/** Sends provider metadata back unchanged. */
function back(provider: ProviderData | undefined): { providerOptions?: ProviderData } {
  return provider === undefined ? {} : { providerOptions: provider };
}

/**
 * Providers only accept objects as arguments. If the model wrote anything else, it is wrapped in an
 * object so that the model can see its mistake.
 */
function argumentsOf(input: string): unknown {
  if (input.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(input);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Not JSON: handled below.
  }
  return { unreadable: input };
}

/**
 * The output of a call. Files that the provider does not take in results are replaced by a sentence:
 * otherwise their base64 would be sent as text.
 */
function outputOf(
  { output, isError, files = [] }: Pick<ToolResultEntry, "output" | "isError" | "files">,
  rules: FileRules,
): AiSdkToolOutput {
  const shown = files.filter(({ file }) => takesInResults(rules, file.mimeType));
  const hidden = files.filter((file) => !shown.includes(file)).map(hiddenNote);
  if (files.length === 0 || isError) {
    if (typeof output === "string") return { type: isError ? "error-text" : "text", value: output };
    return { type: isError ? "error-json" : "json", value: output ?? null };
  }
  const text = typeof output === "string" ? output : JSON.stringify(output ?? null);
  const value = [text, ...hidden].join("\n");
  if (shown.length === 0) return { type: "text", value };
  const content = shown.map(({ file }) => resultFileOf(file, rules));
  return { type: "content", value: [{ type: "text", text: value }, ...content] };
}

function hiddenNote({ artifactId, file }: ResultFile): string {
  return `[The artifact ${artifactId} (${file.mimeType ?? "unknown type"}) cannot be shown to you.]`;
}

/** The types that each provider takes in tool results, by the beginning of its name. */
const RESULT_TYPES: readonly (readonly [provider: RegExp, types: RegExp])[] = [
  [/\banthropic\b|^amazon-bedrock/, /^(image\/(jpeg|png|gif|webp)|application\/pdf)$/],
  [/^(openai|azure)\.responses$/, /^(image\/(jpeg|png|gif|webp)|application\/pdf)$/],
  [/^google\./, /^(image\/(jpeg|png|webp|heic|heif)|application\/pdf)$/],
];

function takesInResults({ provider }: FileRules, mediaType = ""): boolean {
  return RESULT_TYPES.some(([name, types]) => name.test(provider) && types.test(mediaType));
}

/** The three versions of the specification have three forms for it. */
function resultFileOf(
  { bytes = "", mimeType = "", name }: FileContent,
  { version }: FileRules,
): AiSdkResultContent {
  if (version === "v2") return { type: "media", data: bytes, mediaType: mimeType };
  const facts = { mediaType: mimeType, ...(name !== undefined && { filename: name }) };
  if (version === "v4") return { type: "file", data: { type: "data", data: bytes }, ...facts };
  if (mimeType.startsWith("image/"))
    return { type: "image-data", data: bytes, mediaType: mimeType };
  return { type: "file-data", data: bytes, ...facts };
}

/** Converts a message part to content for the model. */
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

/**
 * Nothing is downloaded here: if the provider cannot fetch the URL itself, the model only sees the
 * file's name and URL.
 */
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

/** Wraps content in a code fence that is longer than any fence inside it. */
function fenced(language: string, content: string): string {
  const longest = (content.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${content}\n${fence}`;
}

interface InlineFile {
  /** Base64-encoded. */
  readonly bytes: string;
  readonly mediaType: string | undefined;
}

/** The content of a file that was sent inline, including in a `data:` URL. */
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

/** Whether files of this type are passed to the model as text. */
function isText(mediaType: string): boolean {
  const [type = ""] = mediaType.toLowerCase().split(";");
  return (
    type.startsWith("text/") ||
    /^application\/(.+\+)?(json|xml|yaml|toml)$/.test(type) ||
    ["application/javascript", "application/x-yaml", "application/x-ndjson"].includes(type)
  );
}
