import { type Provider, loadPackage } from "./provider.ts";
import { ModelError } from "../../model/model-error.ts";
import { openCompatible } from "./openai-compatible.ts";

const DEFAULT_HOST = "127.0.0.1:11434";

/** Models on one's own machine, by Ollama's OpenAI-compatible API. Needs no key. */
export const ollama: Provider = {
  baseUrlVariable: "OLLAMA_HOST",
  addressOf: ollamaUrl,
  open: (name, { baseUrl, ...settings }) =>
    openCompatible(name, { ...settings, baseUrl: ollamaUrl(baseUrl), label: "ollama" }),
};

/**
 * OpenAI by its Responses API. Nothing of a conversation is stored there: the
 * transcript is ours, and thoughts come back to us encrypted and go along with
 * the next request.
 */
export const openai: Provider = {
  keyVariable: "OPENAI_API_KEY",
  baseUrlVariable: "OPENAI_BASE_URL",
  open: async (name, { apiKey, baseUrl, fetch }) => {
    const { createOpenAI } = await loadPackage("@ai-sdk/openai", () => import("@ai-sdk/openai"));
    return createOpenAI({ apiKey, fetch, ...(baseUrl && { baseURL: baseUrl }) }).responses(name);
  },
  defaults: ({ isThinking }) => ({
    openai: { store: false, ...(isThinking && { reasoningSummary: "auto" }) },
  }),
};

export const google: Provider = {
  keyVariable: "GOOGLE_GENERATIVE_AI_API_KEY",
  // The package itself knows no variable for it.
  baseUrlVariable: "GOOGLE_GENERATIVE_AI_BASE_URL",
  open: async (name, { apiKey, baseUrl, fetch }) => {
    const { createGoogle } = await loadPackage("@ai-sdk/google", () => import("@ai-sdk/google"));
    return createGoogle({ apiKey, fetch, ...(baseUrl && { baseURL: baseUrl }) })(name);
  },
  defaults: ({ isThinking }) => ({
    google: isThinking ? { thinkingConfig: { includeThoughts: true } } : {},
  }),
};

export const anthropic: Provider = {
  keyVariable: "ANTHROPIC_API_KEY",
  baseUrlVariable: "ANTHROPIC_BASE_URL",
  open: async (name, { apiKey, baseUrl, fetch }) => {
    const { createAnthropic } = await loadPackage(
      "@ai-sdk/anthropic",
      () => import("@ai-sdk/anthropic"),
    );
    return createAnthropic({ apiKey, fetch, ...(baseUrl && { baseURL: baseUrl }) })(name);
  },
};

/** `OLLAMA_HOST` as Ollama itself reads it: a host, with a port and a scheme if need be. */
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
  // Where a server listens on all addresses, this is the one to call.
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (!/\/v1\/?$/.test(url.pathname)) url.pathname = `${url.pathname.replace(/\/$/, "")}/v1`;
  return url.href.replace(/\/$/, "");
}
