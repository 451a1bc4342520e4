import { type Provider, loadPackage } from "./provider.ts";

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
