import type * as Anthropic from "@ai-sdk/anthropic";
import type * as Google from "@ai-sdk/google";
import type * as OpenAi from "@ai-sdk/openai";
import { ModelError } from "../../model/model-error.ts";
import { COMPATIBLE_PACKAGE, openCompatible } from "./openai-compatible.ts";
import { type Provider, type ProviderName, loadPackage } from "./provider.ts";

const DEFAULT_HOST = "127.0.0.1:11434";

/** Local models via Ollama's OpenAI-compatible API. No key is needed. */
const ollama: Provider = {
  packageName: COMPATIBLE_PACKAGE,
  baseUrlVariable: "OLLAMA_HOST",
  addressOf: ollamaUrl,
  open: (name, { baseUrl, ...settings }) =>
    openCompatible(name, { ...settings, baseUrl: ollamaUrl(baseUrl), label: "ollama" }),
};

/**
 * OpenAI via its Responses API. No part of a conversation is stored there: we keep the transcript,
 * and the reasoning is returned to us encrypted and sent back with the next request.
 */
const openai: Provider = {
  packageName: "@ai-sdk/openai",
  keyVariable: "OPENAI_API_KEY",
  baseUrlVariable: "OPENAI_BASE_URL",
  open: async (name, { apiKey, baseUrl, fetch }) => {
    const { createOpenAI } = await loadPackage<typeof OpenAi>("@ai-sdk/openai");
    return createOpenAI({ apiKey, fetch, ...(baseUrl && { baseURL: baseUrl }) }).responses(name);
  },
  defaults: ({ isThinking }) => ({
    openai: { store: false, ...(isThinking && { reasoningSummary: "auto" }) },
  }),
};

const google: Provider = {
  packageName: "@ai-sdk/google",
  keyVariable: "GOOGLE_GENERATIVE_AI_API_KEY",
  // The package itself does not read a variable for the base URL.
  baseUrlVariable: "GOOGLE_GENERATIVE_AI_BASE_URL",
  open: async (name, { apiKey, baseUrl, fetch }) => {
    const { createGoogle } = await loadPackage<typeof Google>("@ai-sdk/google");
    return createGoogle({ apiKey, fetch, ...(baseUrl && { baseURL: baseUrl }) })(name);
  },
  defaults: ({ isThinking }) => ({
    google: isThinking ? { thinkingConfig: { includeThoughts: true } } : {},
  }),
};

const anthropic: Provider = {
  packageName: "@ai-sdk/anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  baseUrlVariable: "ANTHROPIC_BASE_URL",
  open: async (name, { apiKey, baseUrl, fetch }) => {
    const { createAnthropic } = await loadPackage<typeof Anthropic>("@ai-sdk/anthropic");
    return createAnthropic({ apiKey, fetch, ...(baseUrl && { baseURL: baseUrl }) })(name);
  },
};

/** The providers that a model spec can name. */
export const PROVIDERS: Readonly<Record<ProviderName, Provider>> = {
  anthropic,
  openai,
  google,
  ollama,
};

/** Parses `OLLAMA_HOST` in the same way as Ollama: a host, optionally with a port and a scheme. */
export function ollamaUrl(host: string = DEFAULT_HOST): string {
  const text = /^https?:\/\//i.test(host) ? host : `http://${host}`;
  if (!URL.canParse(text)) {
    throw new ModelError(
      "refused",
      `OLLAMA_HOST: "${host}" is no address; set it to something like ${DEFAULT_HOST}`,
    );
  }
  const url = new URL(text);
  if (url.port === "" && !/^https?:\/\//i.test(host)) url.port = "11434";
  // A server that listens on all addresses is reached via the loopback address.
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (!/\/v1\/?$/.test(url.pathname)) url.pathname = `${url.pathname.replace(/\/$/, "")}/v1`;
  return url.href.replace(/\/$/, "");
}
