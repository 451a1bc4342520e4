import type { Translator } from "../../model/answer-stream.ts";
import {
  type FinishReason,
  type ModelEvent,
  type ModelUsage,
  type ProviderData,
  mergeProviderData,
} from "../../model/model.ts";
import type {
  AiSdkFileData,
  AiSdkModel,
  AiSdkPart,
  AiSdkUserContent,
  SupportedUrls,
} from "./ai-sdk-model.ts";
import { LostAnswerError } from "../../model/model-error.ts";
import { isSecondRequest } from "./one-request.ts";
import type { A2APart, DataPart, FileContent } from "@convoke/protocol";

interface OpenCall {
  readonly toolName: string;
  /** The arguments streamed so far. */
  written: string;
  /** Whether its chunks are not JSON and therefore not shown. */
  readonly isHidden: boolean;
}

/** Converts the AI SDK's stream parts of one answer to model events. */
export class PartTranslator implements Translator {
  readonly #calls = new Map<string, OpenCall>();
  /** The provider metadata of the open reasoning block, merged from all of its parts. */
  #thought: ProviderData | undefined;
  #isFinished = false;

  /** Whether the provider has reported that the answer is complete. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  translate(value: unknown, events: ModelEvent[]): void {
    const part = value as AiSdkPart;
    switch (part.type) {
      case "text-delta":
        if (part.delta !== "") events.push({ kind: "text", text: part.delta });
        return;
      case "reasoning-start":
        this.#thought = part.providerMetadata;
        return;
      case "reasoning-delta":
        this.#thought = mergeProviderData(this.#thought, part.providerMetadata);
        if (part.delta !== "") events.push({ kind: "reasoning", text: part.delta });
        return;
      case "reasoning-end": {
        const provider = mergeProviderData(this.#thought, part.providerMetadata);
        this.#thought = undefined;
        events.push({ kind: "reasoning-end", ...(provider && { provider }) });
        return;
      }
      case "tool-input-start":
        this.#calls.set(part.id, {
          toolName: part.toolName,
          written: "",
          isHidden: part.inputEncoding === "text" || part.providerExecuted === true,
        });
        return;
      case "tool-input-delta":
        return this.#write(part.id, part.delta, events);
      case "tool-call":
        return this.#call(part, events);
      case "source":
        if (part.sourceType === "url" && part.url !== undefined) {
          const { url, title } = part;
          events.push({ kind: "source", url, ...(title !== undefined && { title }) });
        }
        return;
      case "file":
        events.push(fileEventOf(part));
        return;
      case "finish": {
        const reason = finishReasonOf(part.finishReason);
        if (reason === "interrupted") throw new LostAnswerError();
        this.#isFinished = true;
        events.push({ kind: "finish", reason, usage: usageOf(part.usage) });
        return;
      }
      case "error":
        // The SDK tried to request the rest of a long answer. The part received so far is used.
        if (!isSecondRequest(part.error)) throw part.error;
    }
  }

  #write(id: string, delta: string, events: ModelEvent[]): void {
    const call = this.#calls.get(id);
    if (call === undefined || call.isHidden || delta === "") return;
    call.written += delta;
    events.push({
      kind: "tool-input",
      toolCallId: id,
      toolName: call.toolName,
      delta,
    });
  }

  #call(part: AiSdkPart & { readonly type: "tool-call" }, events: ModelEvent[]): void {
    const { toolCallId, toolName, input, providerMetadata } = part;
    const written = this.#calls.get(toolCallId)?.written ?? "";
    this.#calls.delete(toolCallId);
    // Tools that the provider runs itself are not handled by the loop.
    if (part.providerExecuted === true) return;
    // Not every provider streams arguments. Emit the missing rest, so that readers of the chunks
    // always get all of them.
    if (input.length > written.length && input.startsWith(written)) {
      const delta = input.slice(written.length);
      events.push({ kind: "tool-input", toolCallId, toolName, delta });
    }
    const provider = providerMetadata && { provider: providerMetadata };
    events.push({ kind: "tool-call", toolCallId, toolName, input, ...provider });
  }
}

/** Converts a file that the model created. A file that is only given as a URL becomes a source. */
function fileEventOf(part: AiSdkPart & { readonly type: "file" }): ModelEvent {
  const content = contentOf(part.data);
  if (content instanceof URL) return { kind: "source", url: content.href };
  const bytes =
    typeof content === "string"
      ? content
      : Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
  return { kind: "file", mediaType: part.mediaType, bytes };
}

function contentOf(data: AiSdkFileData): string | Uint8Array | URL {
  if (typeof data === "string" || data instanceof Uint8Array || data instanceof URL) return data;
  return data.type === "url" ? data.url : data.data;
}

const REASONS: ReadonlySet<unknown> = new Set<FinishReason>([
  "stop",
  "tool-calls",
  "length",
  "content-filter",
  "error",
  "other",
]);

/** The finish reason: a string in specification version 2, and an object since version 3. */
function finishReasonOf(reason: unknown): FinishReason | "interrupted" {
  const word =
    typeof reason === "object" && reason !== null && "unified" in reason ? reason.unified : reason;
  if (word === "interrupted") return word;
  return REASONS.has(word) ? (word as FinishReason) : "other";
}

/** Plain numbers in specification version 2, and numbers by kind since version 3. */
interface AiSdkUsage {
  readonly inputTokens?: number | { readonly total?: number; readonly cacheRead?: number };
  readonly outputTokens?: number | { readonly total?: number; readonly reasoning?: number };
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

/**
 * The tokens that a request used. Numbers that the provider does not report are 0; cached and
 * reasoning tokens are only included if there are any.
 */
function usageOf(usage: unknown): ModelUsage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = (usage ??
    {}) as AiSdkUsage;
  const input =
    typeof inputTokens === "object"
      ? inputTokens
      : { total: inputTokens, cacheRead: cachedInputTokens };
  const output =
    typeof outputTokens === "object"
      ? outputTokens
      : { total: outputTokens, reasoning: reasoningTokens };
  return {
    inputTokens: count(input.total),
    outputTokens: count(output.total),
    ...(count(input.cacheRead) > 0 && { cachedInputTokens: count(input.cacheRead) }),
    ...(count(output.reasoning) > 0 && { reasoningTokens: count(output.reasoning) }),
  };
}

function count(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) && tokens > 0 ? tokens : 0;
}

/** Which files a model accepts. */
export interface FileRules {
  readonly version: AiSdkModel["specificationVersion"];
  readonly supportedUrls: SupportedUrls;
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
