import { createEgress, createEgressFetch } from "@convoke/egress";
import { type AiSdkModel, isAiSdkModel } from "./ai-sdk/ai-sdk-model.ts";
import { fromAiSdk } from "./ai-sdk/from-ai-sdk.ts";
import { type Fetch, oneRequestEach } from "./ai-sdk/one-request.ts";
import { demoModel } from "./demo/demo-model.ts";
import { contextTokensOf } from "./known-models.ts";
import { ModelError } from "./model-error.ts";
import { type ParsedSpec, type ProviderName, parseModelSpec } from "./model-spec.ts";
import type { ModelOptions, ModelSpec } from "./model-options.ts";
import type { Model } from "./model.ts";
import { mergeProviderData } from "./provider-data.ts";
import { anthropic } from "./providers/anthropic.ts";
import { google } from "./providers/google.ts";
import { ollama } from "./providers/ollama.ts";
import { PICTURE_URLS, openCompatible } from "./providers/openai-compatible.ts";
import { openai } from "./providers/openai.ts";
import type { Provider } from "./providers/provider.ts";

const PROVIDERS: Readonly<Record<ProviderName, Provider>> = { anthropic, openai, google, ollama };

/**
 * The model that a spec names. Its package is loaded and its key is looked up
 * here, before anything is sent; what is missing is said in the error.
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

async function fromProvider(
  { provider: providerName, name }: ParsedSpec & { kind: "provider" },
  options: ModelOptions,
): Promise<Model> {
  const provider = PROVIDERS[providerName];
  const { environment = process.env } = options;
  const { keyVariable, baseUrlVariable } = provider;
  const apiKey = options.apiKey ?? (keyVariable && environment[keyVariable]) ?? "";
  if (apiKey === "" && keyVariable !== undefined) {
    throw new ModelError(
      "unauthorized",
      `${providerName}:${name} needs a key; set ${keyVariable} or give apiKey`,
    );
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
  const { origin, pathname, searchParams } = new URL(baseUrl);
  return fromAiSdk(sdk, {
    ...options,
    // Without the query: it may hold a key.
    id: `${origin}${pathname}#${name}`,
    keyVariable,
    secrets: [apiKey, ...searchParams.values()],
  });
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
  const [provider = ""] = spec.provider.split(".");
  return fromAiSdk(spec, {
    ...options,
    id: `${provider}:${spec.modelId}`,
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

/** By the egress policy. An address that the operator gave may be anywhere, such as on this machine. */
function fetchOf({ fetch }: ModelOptions, baseUrl: string | undefined): Fetch {
  const trusted = baseUrl === undefined ? [] : [baseUrl];
  return oneRequestEach(fetch ?? createEgressFetch(createEgress({ trusted })));
}

function isThinking({ reasoning }: ModelOptions): boolean {
  return reasoning !== undefined && reasoning !== "none";
}
