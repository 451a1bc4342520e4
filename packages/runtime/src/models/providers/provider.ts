import type { AiSdkModel } from "../ai-sdk/ai-sdk-model.ts";
import type { Fetch } from "../ai-sdk/one-request.ts";
import type { ProviderData } from "../../model/model.ts";

/** A service that has models. */
export interface Provider {
  /** What holds its key, unless it is given. */
  readonly keyVariable?: string;
  /** What may hold another address of it. */
  readonly baseUrlVariable?: string;
  /** Where it is, for one that is usually not in public. */
  addressOf?(baseUrl: string | undefined): string;
  /** Loads its package and names one of its models. */
  open(name: string, settings: ProviderSettings): Promise<AiSdkModel>;
  /** Options of each request. */
  defaults?(settings: { readonly isThinking: boolean }): ProviderData;
}

export interface ProviderSettings {
  readonly apiKey: string;
  readonly baseUrl: string | undefined;
  readonly fetch: Fetch;
}
