import type { A2APart } from "@convoke/protocol";

/**
 * What thinks. Whatever the provider, a model is asked once and answers with
 * one stream; it neither retries nor runs tools by itself: the loop does, and
 * its log shows it.
 */
export interface Model {
  /** Such as `anthropic:claude-sonnet-4-5`; shown in logs and metadata. */
  readonly id: string;
  /** How many tokens it can read, if that is known. */
  readonly contextTokens?: number;
  /** What a million tokens cost, if that is known. */
  readonly price?: ModelPrice;
  /**
   * Answers a request. The stream ends with `finish`; what goes wrong is thrown
   * as a `ModelError`. When the signal fires, the request to the provider is
   * aborted at once.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** In the currency of the operator, usually US dollars. */
export interface ModelPrice {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
  readonly cachedInputPerMillion?: number;
}

export interface ModelRequest {
  readonly instructions?: string;
  readonly transcript: readonly TranscriptEntry[];
  readonly tools: readonly ToolDescription[];
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
}

/** A tool as described to the model. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly input: JsonSchema;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The conversation so far, as sent to the model. */
export type TranscriptEntry =
  | { readonly role: "user"; readonly parts: readonly A2APart[] }
  | { readonly role: "assistant"; readonly content: readonly AssistantContent[] }
  | { readonly role: "tool"; readonly results: readonly ToolResultEntry[] };

/** What a model said in one answer. */
export type AssistantContent =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "reasoning";
      readonly text: string;
      /** What the provider wants back unchanged with the next request, such as a signature. */
      readonly provider?: ProviderData;
    }
  | {
      readonly kind: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      /** JSON text, as the model wrote it. */
      readonly input: string;
      readonly provider?: ProviderData;
    };

export type ProviderData = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What came of a tool call, for the model. */
export interface ToolResultEntry {
  readonly toolCallId: string;
  readonly toolName: string;
  /** Any JSON. For an error, text that tells the model what to do. */
  readonly output: unknown;
  readonly isError: boolean;
}

export type ModelEvent =
  | { readonly kind: "text"; readonly text: string }
  /** A piece of a thought. */
  | { readonly kind: "reasoning"; readonly text: string }
  /** The thought is complete. One without words may still hold what the provider wants back. */
  | { readonly kind: "reasoning-end"; readonly provider?: ProviderData }
  /** The arguments of a tool call while they are written. */
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
  /** Where something that was said comes from. */
  | { readonly kind: "source"; readonly url: string; readonly title?: string }
  /** Something the model made, such as an image. */
  | { readonly kind: "file"; readonly mediaType: string; readonly bytes: string }
  | { readonly kind: "finish"; readonly reason: FinishReason; readonly usage: ModelUsage };

export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "error" | "other";

/** Tokens of one request, as far as the provider tells. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

/** What a provider said first, with what it said later on top. */
export function mergeProviderData(
  earlier: ProviderData | undefined,
  later: ProviderData | undefined,
): ProviderData | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  const all: Record<string, Readonly<Record<string, unknown>>> = { ...earlier };
  for (const [name, data] of Object.entries(later)) all[name] = { ...all[name], ...data };
  return all;
}
