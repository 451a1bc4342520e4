import type { A2APart, FileContent } from "@convoke/protocol";

/**
 * A language model, whatever its provider. Each request is answered with one stream. A model
 * neither retries nor runs tools by itself: the agent loop does both and records them in its log.
 */
export interface Model {
  /** For example `anthropic:claude-sonnet-4-5`; shown in logs and metadata. */
  readonly id: string;
  /** The size of the context window in tokens, if known. */
  readonly contextTokens?: number;
  /** The price per million tokens, if known. */
  readonly price?: ModelPrice;
  /**
   * Answers a request. The stream ends with `finish`, and failures are thrown as `ModelError`. When
   * the signal fires, the request to the provider is aborted immediately.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** Amounts are in the operator's currency, usually US dollars. */
export interface ModelPrice {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
  readonly cachedInputPerMillion?: number;
}

export interface ModelRequest {
  readonly instructions?: string;
  readonly transcript: readonly TranscriptEntry[];
  readonly tools: readonly ToolDescription[];
  /** JSON Schema of the final answer. The instructions ask for it, too. */
  readonly output?: JsonSchema;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
}

/** A tool as described to the model. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: JsonSchema;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The conversation so far, as sent to the model. */
export type TranscriptEntry =
  | { readonly role: "user"; readonly parts: readonly A2APart[] }
  | { readonly role: "assistant"; readonly content: readonly AssistantContent[] }
  | { readonly role: "tool"; readonly results: readonly ToolResultEntry[] };

/** One piece of a model's answer. */
export type AssistantContent =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "reasoning";
      readonly text: string;
      /**
       * Data that the provider expects back unchanged with the next request, such as a signature.
       */
      readonly provider?: ProviderData;
    }
  | {
      readonly kind: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      /** JSON text, exactly as the model wrote it. */
      readonly input: string;
      readonly provider?: ProviderData;
    };

export type ProviderData = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The result of a tool call, for the model. */
export interface ToolResultEntry {
  readonly toolCallId: string;
  readonly toolName: string;
  /** Any JSON value. For an error, a text that tells the model how to proceed. */
  readonly output: unknown;
  readonly isError: boolean;
  /** Files that belong to the result, such as an image that was read. Default none. */
  readonly files?: readonly ResultFile[];
}

/** A file of a tool result, which the user has as an artifact of the task. */
export interface ResultFile {
  readonly artifactId: string;
  readonly file: FileContent;
}

export type ModelEvent =
  | { readonly kind: "text"; readonly text: string }
  /** A chunk of reasoning text. */
  | { readonly kind: "reasoning"; readonly text: string }
  /**
   * The reasoning block is complete. Even an empty block may carry data that the provider expects
   * back.
   */
  | { readonly kind: "reasoning-end"; readonly provider?: ProviderData }
  /** A chunk of a tool call's arguments while they are being written. */
  | {
      readonly kind: "tool-input";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly delta: string;
    }
  | {
      readonly kind: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      /** JSON text. */
      readonly input: string;
      readonly provider?: ProviderData;
    }
  /** The source of something in the answer. */
  | { readonly kind: "source"; readonly url: string; readonly title?: string }
  /** A file that the model created, such as an image. */
  | { readonly kind: "file"; readonly mediaType: string; readonly bytes: string }
  | { readonly kind: "finish"; readonly reason: FinishReason; readonly usage: ModelUsage };

export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "error" | "other";

/** The tokens of one request, as far as the provider reports them. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

/** Merges provider data; later values override earlier ones. */
export function mergeProviderData(
  earlier: ProviderData | undefined,
  later: ProviderData | undefined,
): ProviderData | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  const all: Record<string, Readonly<Record<string, unknown>>> = { ...earlier };
  for (const [name, data] of Object.entries(later)) all[name] = { ...all[name], ...data };
  return all;
}
