import { type Provider, loadPackage } from "./provider.ts";

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
