import { type Provider, loadPackage } from "./provider.ts";

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
