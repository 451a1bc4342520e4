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
  /** What was streamed of its arguments. */
  written: string;
  /** Its pieces are not JSON, so they are not shown. */
  readonly isHidden: boolean;
}

/** Turns what the AI SDK says of one answer into our events. */
export class PartTranslator implements Translator {
  readonly #calls = new Map<string, OpenCall>();
  /** What the provider says of the thought that is open, collected from all its parts. */
  #thought: ProviderData | undefined;
  #isFinished = false;

  /** Whether the provider has said that the answer is complete. */
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
        // The answer was long and the SDK wanted to ask for more of it; what there is counts.
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
    // What the provider runs itself is no business of the loop.
    if (part.providerExecuted === true) return;
    // Not every provider streams arguments; readers of the pieces get all of them anyway.
    if (input.length > written.length && input.startsWith(written)) {
      const delta = input.slice(written.length);
      events.push({ kind: "tool-input", toolCallId, toolName, delta });
    }
    const provider = providerMetadata && { provider: providerMetadata };
    events.push({ kind: "tool-call", toolCallId, toolName, input, ...provider });
  }
}

/** A file the model made. One that is only named by its address is a source. */
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

/** Why the provider stopped: a word in specification 2, an object since 3. */
function finishReasonOf(reason: unknown): FinishReason | "interrupted" {
  const word =
    typeof reason === "object" && reason !== null && "unified" in reason ? reason.unified : reason;
  if (word === "interrupted") return word;
  return REASONS.has(word) ? (word as FinishReason) : "other";
}

/** Numbers in specification 2, numbers by kind since 3. */
interface AiSdkUsage {
  readonly inputTokens?: number | { readonly total?: number; readonly cacheRead?: number };
  readonly outputTokens?: number | { readonly total?: number; readonly reasoning?: number };
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

/** What a request used. Zero where a provider does not tell; cached and reasoning tokens only where there are any. */
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
