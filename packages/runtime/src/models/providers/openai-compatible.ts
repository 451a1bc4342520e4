import type * as OpenAiCompatible from "@ai-sdk/openai-compatible";
import type { AiSdkModel, SupportedUrls } from "../ai-sdk/ai-sdk-model.ts";
import { type ProviderSettings, loadPackage } from "./provider.ts";

export const COMPATIBLE_PACKAGE = "@ai-sdk/openai-compatible";

interface CompatibleSettings extends ProviderSettings {
  readonly baseUrl: string;
  /** The key under which the SDK stores the server's provider metadata. */
  readonly label: string;
  readonly supportedUrls?: Record<string, RegExp[]>;
}

/** Creates a model for any server that supports OpenAI's chat completions API. */
export async function openCompatible(
  name: string,
  { apiKey, baseUrl, fetch, label, supportedUrls }: CompatibleSettings,
): Promise<AiSdkModel> {
  const { createOpenAICompatible } = await loadPackage<typeof OpenAiCompatible>(COMPATIBLE_PACKAGE);
  const url = new URL(baseUrl);
  const queryParams = Object.fromEntries(url.searchParams);
  url.search = url.hash = "";
  const provider = createOpenAICompatible({
    name: label,
    baseURL: url.href,
    fetch,
    includeUsage: true,
    ...(apiKey !== "" && { apiKey }),
    ...(Object.keys(queryParams).length > 0 && { queryParams }),
    ...(supportedUrls && { supportedUrls: () => supportedUrls }),
  });
  return provider.chatModel(name);
}

/**
 * Image URLs are passed on to remote servers, which can fetch them. Local servers usually cannot.
 */
export const PICTURE_URLS: SupportedUrls & Record<string, RegExp[]> = {
  "image/*": [/^https?:\/\//],
};
