import type { Translator } from "../../model/answer-stream.ts";
import {
  type FinishReason,
  type ModelEvent,
  type ModelUsage,
  type ProviderData,
  mergeProviderData,
} from "../../model/model.ts";
import type { AiSdkFileData, AiSdkPart } from "./ai-sdk-model.ts";
import { LostAnswerError } from "../../model/model-error.ts";
import { isSecondRequest } from "./one-request.ts";

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
