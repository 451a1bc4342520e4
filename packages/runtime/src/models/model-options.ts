import type { AiSdkModel, ReasoningEffort } from "./ai-sdk/ai-sdk-model.ts";
import type { Fetch } from "./ai-sdk/one-request.ts";
import type { Model, ModelPrice, ProviderData } from "../model/model.ts";

/** A model by its name, a model object of the AI SDK, or a model of one's own. */
export type ModelSpec = string | AiSdkModel | Model;

export interface ModelOptions {
  /** Instead of the provider's environment variable. */
  readonly apiKey?: string;
  /** Another address of the provider, such as of a proxy. */
  readonly baseUrl?: string;
  /** Every request to the provider goes through it. By default the egress policy, which reaches public addresses and `baseUrl`. */
  readonly fetch?: Fetch;
  /** How many tokens the model can read, where we do not know it or know it wrong. */
  readonly contextTokens?: number;
  /** Without it no cost is counted. */
  readonly price?: ModelPrice;
  /** How much the model thinks before it answers. By default whatever the provider does. */
  readonly reasoning?: ReasoningEffort;
  /** Options of the provider's own, as the AI SDK documents them, such as `{ anthropic: { cacheControl: { type: "ephemeral" } } }`. */
  readonly providerOptions?: ProviderData;
  /** Where keys and addresses are looked up. By default the environment of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}
