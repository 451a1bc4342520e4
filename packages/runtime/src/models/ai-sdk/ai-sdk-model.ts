import type { PartReader } from "../../model/answer-stream.ts";
import type { ProviderData } from "../../model/model.ts";

/**
 * The part of an AI SDK model object that is used here. It is declared here so that users do not
 * need the SDK's types. Specification versions 2, 3 and 4 all match it; they differ only in how
 * they name files, usage and the finish reason.
 */
export interface AiSdkModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  /** For example `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
  /** URLs that the provider fetches itself, as patterns by media type. */
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls;
  /**
   * Called with an `AiSdkCall`. The three specification versions share no type for it, so the
   * parameter is `never`, which accepts any model.
   */
  doStream(call: never): PromiseLike<{ readonly stream: PartStream }>;
}

export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

/** The part of `ReadableStream` that is used. */
interface PartStream {
  getReader(): PartReader;
}

/** The stream parts that are used; all others are skipped. */
export type AiSdkPart =
  | { readonly type: "text-delta"; readonly delta: string }
  | {
      readonly type: "reasoning-start" | "reasoning-end";
      readonly providerMetadata?: ProviderData;
    }
  | {
      readonly type: "reasoning-delta";
      readonly delta: string;
      readonly providerMetadata?: ProviderData;
    }
  | {
      readonly type: "tool-input-start";
      readonly id: string;
      readonly toolName: string;
      readonly inputEncoding?: "json" | "text";
      readonly providerExecuted?: boolean;
    }
  | { readonly type: "tool-input-delta"; readonly id: string; readonly delta: string }
  | {
      readonly type: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: string;
      readonly providerExecuted?: boolean;
      readonly providerMetadata?: ProviderData;
    }
  | {
      readonly type: "source";
      readonly sourceType: string;
      readonly url?: string;
      readonly title?: string;
    }
  | { readonly type: "file"; readonly mediaType: string; readonly data: AiSdkFileData }
  | { readonly type: "finish"; readonly finishReason: unknown; readonly usage: unknown }
  | { readonly type: "error"; readonly error: unknown };

/** A plain value up to specification version 3, and a tagged object since version 4. */
export type AiSdkFileData =
  | string
  | Uint8Array
  | URL
  | { readonly type: "data"; readonly data: string | Uint8Array }
  | { readonly type: "url"; readonly url: URL };

/** The argument of `doStream`. */
export interface AiSdkCall {
  readonly prompt: readonly AiSdkMessage[];
  readonly tools?: readonly AiSdkTool[];
  readonly toolChoice?: { readonly type: "auto" };
  /** A provider without a JSON mode ignores it, or offers the model a tool for it. */
  readonly responseFormat?: { readonly type: "json"; readonly schema: object };
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** Since specification version 4. */
  readonly reasoning?: ReasoningEffort;
  readonly providerOptions?: ProviderData;
  readonly abortSignal: AbortSignal;
}

/** How much a model reasons before it answers, for models that support it. */
export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high";

export interface AiSdkTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
}

export type AiSdkMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: readonly AiSdkUserContent[] }
  | { readonly role: "assistant"; readonly content: readonly AiSdkAssistantContent[] }
  | { readonly role: "tool"; readonly content: readonly AiSdkToolResult[] };

export type AiSdkUserContent =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly filename?: string;
      readonly data: AiSdkFileData;
    };

export type AiSdkAssistantContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly providerOptions?: ProviderData }
  | {
      readonly type: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
      readonly providerOptions?: ProviderData;
    };

interface AiSdkToolResult {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: AiSdkToolOutput;
}

export type AiSdkToolOutput =
  | { readonly type: "text" | "error-text"; readonly value: string }
  | { readonly type: "json" | "error-json"; readonly value: unknown }
  | { readonly type: "content"; readonly value: readonly AiSdkResultContent[] };

/** A piece of a tool result. Each specification version names files differently. */
export type AiSdkResultContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "media" | "image-data"; readonly data: string; readonly mediaType: string }
  | {
      readonly type: "file-data";
      readonly data: string;
      readonly mediaType: string;
      readonly filename?: string;
    }
  | {
      readonly type: "file";
      readonly data: AiSdkFileData;
      readonly mediaType: string;
      readonly filename?: string;
    };

/** Whether a value is an AI SDK model object of a supported version. */
export function isAiSdkModel(value: unknown): value is AiSdkModel {
  if (typeof value !== "object" || value === null) return false;
  const { specificationVersion, doStream } = value as Partial<AiSdkModel>;
  return ["v2", "v3", "v4"].includes(specificationVersion ?? "") && typeof doStream === "function";
}
