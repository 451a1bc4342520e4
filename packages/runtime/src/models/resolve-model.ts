import { createEgress, createEgressFetch } from "@convoke/egress";
import {
  type AiSdkCall,
  type AiSdkModel,
  type AiSdkTool,
  type ReasoningEffort,
  isAiSdkModel,
} from "./ai-sdk/ai-sdk-model.ts";
import { type Fetch, oneRequestEach } from "./ai-sdk/one-request.ts";
import { demoModel } from "./demo/demo-model.ts";
import { ModelError } from "../model/model-error.ts";
import {
  type ModelOptions,
  type ModelSpec,
  type ParsedSpec,
  parseModelSpec,
} from "./model-options.ts";
import {
  type Model,
  type ModelPrice,
  type ModelRequest,
  type ProviderData,
  type ToolDescription,
  mergeProviderData,
} from "../model/model.ts";
import { COMPATIBLE_PACKAGE, PICTURE_URLS, openCompatible } from "./providers/openai-compatible.ts";
import { packageProblems } from "./providers/provider.ts";
import { PROVIDERS } from "./providers/providers.ts";
import { AnswerStream } from "../model/answer-stream.ts";
import { type CallPlace, toModelError } from "./ai-sdk/call-error.ts";
import { PartTranslator } from "./ai-sdk/part-translator.ts";
import { type FileRules, type SentMessages, promptOf } from "./ai-sdk/prompt.ts";

/**
 * Creates the model for a spec. Loads its package and looks up its key before anything is sent, and
 * throws an error that names what is missing.
 */
export async function resolveModel(spec: ModelSpec, options: ModelOptions = {}): Promise<Model> {
  if (typeof spec !== "string") return fromObject(spec, options);
  const parsed = parseModelSpec(spec);
  switch (parsed.kind) {
    case "demo":
      return overridden(demoModel(), options);
    case "compatible":
      return fromCompatible(parsed, options);
    case "provider":
      return fromProvider(parsed, options);
  }
}

/** The id that the model for a spec has, without creating it. */
export function modelId(spec: ModelSpec): string {
  if (isAiSdkModel(spec)) return aiSdkId(spec);
  if (typeof spec !== "string") return (spec as Partial<Model> | null)?.id ?? "unknown";
  try {
    const parsed = parseModelSpec(spec);
    if (parsed.kind === "demo") return parsed.kind;
    const { name } = parsed;
    return parsed.kind === "provider"
      ? `${parsed.provider}:${name}`
      : compatibleId(parsed.baseUrl, name);
  } catch {
    // Using the model fails with the reason.
    return "unknown";
  }
}

/**
 * What is missing for the model of a spec, without creating it: a known provider, its key, its
 * package. Empty if nothing is; whether the provider knows the model shows only when it is used.
 */
export function modelProblems(spec: ModelSpec, options: ModelOptions = {}): readonly string[] {
  if (typeof spec !== "string") return [];
  try {
    const parsed = parseModelSpec(spec);
    if (parsed.kind === "demo") return [];
    if (parsed.kind === "compatible") return packageProblems(COMPATIBLE_PACKAGE);
    const { keyVariable, packageName } = PROVIDERS[parsed.provider];
    const { environment = process.env, apiKey = keyVariable && environment[keyVariable] } = options;
    const isKeyMissing = keyVariable !== undefined && (apiKey ?? "") === "";
    return [
      ...(isKeyMissing ? [keyProblem(modelId(spec), keyVariable)] : []),
      ...packageProblems(packageName),
    ];
  } catch (error) {
    if (error instanceof ModelError) return [error.message];
    throw error;
  }
}

function keyProblem(id: string, keyVariable: string): string {
  return `${id} needs a key; set ${keyVariable} or give apiKey`;
}

async function fromProvider(
  { provider: providerName, name }: ParsedSpec & { kind: "provider" },
  options: ModelOptions,
): Promise<Model> {
  const provider = PROVIDERS[providerName];
  const { environment = process.env } = options;
  const { keyVariable, baseUrlVariable } = provider;
  const apiKey = options.apiKey ?? (keyVariable && environment[keyVariable]) ?? "";
  if (apiKey === "" && keyVariable !== undefined) {
    throw new ModelError("unauthorized", keyProblem(`${providerName}:${name}`, keyVariable));
  }
  const baseUrl =
    options.baseUrl ?? ((baseUrlVariable && environment[baseUrlVariable]) || undefined);
  const fetch = fetchOf(options, provider.addressOf?.(baseUrl) ?? baseUrl);
  const sdk = await provider.open(name, { apiKey, baseUrl, fetch });
  return fromAiSdk(sdk, {
    id: `${providerName}:${name}`,
    keyVariable,
    secrets: [apiKey],
    contextTokens: options.contextTokens ?? contextTokensOf(name),
    price: options.price,
    reasoning: options.reasoning,
    providerOptions: mergeProviderData(
      provider.defaults?.({ isThinking: isThinking(options) }),
      options.providerOptions,
    ),
  });
}

async function fromCompatible(
  { baseUrl, name }: ParsedSpec & { kind: "compatible" },
  options: ModelOptions,
): Promise<Model> {
  const { environment = process.env } = options;
  const keyVariable = "OPENAI_COMPATIBLE_API_KEY";
  const apiKey = options.apiKey ?? environment[keyVariable] ?? "";
  const sdk = await openCompatible(name, {
    apiKey,
    baseUrl: options.baseUrl ?? baseUrl,
    fetch: fetchOf(options, options.baseUrl ?? baseUrl),
    label: "openai-compatible",
    supportedUrls: PICTURE_URLS,
  });
  const { searchParams } = new URL(baseUrl);
  return fromAiSdk(sdk, {
    ...options,
    id: compatibleId(baseUrl, name),
    keyVariable,
    secrets: [apiKey, ...searchParams.values()],
  });
}

/** The query is left out, because it may contain a key. */
function compatibleId(baseUrl: string, name: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}#${name}`;
}

function aiSdkId({ provider, modelId: name }: AiSdkModel): string {
  return `${provider.split(".")[0] ?? ""}:${name}`;
}

function fromObject(spec: AiSdkModel | Model, options: ModelOptions): Model {
  for (const field of ["apiKey", "baseUrl", "fetch"] as const) {
    if (options[field] !== undefined) {
      throw new TypeError(
        `${field}: a model object brings its own; give it where the object is made`,
      );
    }
  }
  if (!isAiSdkModel(spec)) {
    if (typeof spec?.stream === "function") return overridden(spec, options);
    throw new TypeError(
      `model: neither a name, nor a model object of the AI SDK (specification 2, 3 or 4), nor an object with id and stream`,
    );
  }
  return fromAiSdk(spec, {
    ...options,
    id: aiSdkId(spec),
    contextTokens: options.contextTokens ?? contextTokensOf(spec.modelId),
    providerOptions: options.providerOptions,
  });
}

function overridden(model: Model, options: ModelOptions): Model {
  if (options.contextTokens === undefined && options.price === undefined) return model;
  const { contextTokens = model.contextTokens, price = model.price } = options;
  return {
    id: model.id,
    ...(contextTokens !== undefined && { contextTokens }),
    ...(price !== undefined && { price }),
    stream: (request, signal) => model.stream(request, signal),
  };
}

/**
 * The fetch that applies the egress policy. An address that the operator configured may be private,
 * for example on this machine.
 */
function fetchOf({ fetch }: ModelOptions, baseUrl: string | undefined): Fetch {
  const trusted = baseUrl === undefined ? [] : [baseUrl];
  return oneRequestEach(fetch ?? createEgressFetch(createEgress({ trusted })));
}

function isThinking({ reasoning }: ModelOptions): boolean {
  return reasoning !== undefined && reasoning !== "none";
}

interface AdapterOptions extends CallPlace {
  readonly contextTokens?: number | undefined;
  readonly price?: ModelPrice | undefined;
  readonly reasoning?: ReasoningEffort | undefined;
  readonly providerOptions?: ProviderData | undefined;
}

/**
 * Creates a model from `doStream` of the AI SDK. Each `stream` makes a single call; the SDK's
 * retries and tool loop are not used.
 */
function fromAiSdk(sdk: AiSdkModel, options: AdapterOptions): Model {
  const sent: SentMessages = new WeakMap();
  return {
    id: options.id,
    ...(options.contextTokens !== undefined && { contextTokens: options.contextTokens }),
    ...(options.price !== undefined && { price: options.price }),
    stream: (request, signal) =>
      new AnswerStream({
        signal,
        translator: new PartTranslator(),
        explain: (error) => toModelError(error, options),
        ask: async (abortSignal) => {
          const call = callOf(request, {
            options,
            sent,
            rules: {
              provider: sdk.provider,
              version: sdk.specificationVersion,
              supportedUrls: await sdk.supportedUrls,
            },
            abortSignal,
          });
          const { stream } = await sdk.doStream(call as never);
          return stream.getReader();
        },
      }),
  };
}

interface CallSettings {
  readonly options: AdapterOptions;
  readonly rules: FileRules;
  readonly sent: SentMessages;
  readonly abortSignal: AbortSignal;
}

function callOf(
  request: ModelRequest,
  { options, rules, sent, abortSignal }: CallSettings,
): AiSdkCall {
  const { tools, output, maxOutputTokens, temperature } = request;
  const { reasoning, providerOptions } = options;
  return {
    prompt: promptOf(request, rules, sent),
    ...(tools.length > 0 && { toolChoice: { type: "auto" }, tools: tools.map(toolOf) }),
    ...(output !== undefined && { responseFormat: { type: "json", schema: output } }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(reasoning !== undefined && { reasoning }),
    ...(providerOptions !== undefined && { providerOptions }),
    abortSignal,
  };
}

function toolOf({ name, description, inputSchema }: ToolDescription): AiSdkTool {
  return { type: "function", name, description, inputSchema };
}

/**
 * The context windows of well-known models by name prefix; the longest matching prefix counts.
 * Prices change too often to be listed here.
 */
const CONTEXT_TOKENS: Readonly<Record<string, number>> = {
  "claude-": 200_000,
  "gpt-3.5-turbo": 16_385,
  "gpt-4o": 128_000,
  "gpt-4-turbo": 128_000,
  "gpt-4.1": 1_047_576,
  "gpt-5": 400_000,
  o1: 200_000,
  o3: 200_000,
  "o4-mini": 200_000,
  "gemini-1.5-pro": 2_097_152,
  "gemini-": 1_048_576,
};

/** The context window of a model in tokens, if its family is known. */
function contextTokensOf(name: string): number | undefined {
  const beginning = Object.keys(CONTEXT_TOKENS)
    .filter((candidate) => name.startsWith(candidate))
    .toSorted((one, other) => other.length - one.length)[0];
  return beginning === undefined ? undefined : CONTEXT_TOKENS[beginning];
}
