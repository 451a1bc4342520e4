import type { AiSdkModel, ReasoningEffort } from "./ai-sdk/ai-sdk-model.ts";
import type { Fetch } from "./ai-sdk/one-request.ts";
import type { Model, ModelPrice, ProviderData } from "../model/model.ts";
import { ModelError } from "../model/model-error.ts";
import { PROVIDER_NAMES, type ProviderName } from "./providers/provider.ts";

const FORMS = [
  ...PROVIDER_NAMES.map((name) => `"${name}:<model>"`),
  `"https://host/v1#<model>" (any OpenAI-compatible server)`,
  `"demo" (no key, no AI)`,
].join(", ");

/** A model name, an AI SDK model object, or your own `Model`. */
export type ModelSpec = string | AiSdkModel | Model;

/** One model of a list, with options of its own. */
export interface ModelChoice extends ModelOptions {
  readonly model: ModelSpec;
}

/** The model of an agent, or several in the order in which they are tried. */
export type ModelSpecs = ModelSpec | readonly (ModelSpec | ModelChoice)[];

export interface ModelOptions {
  /** The API key. Default: the provider's environment variable. */
  readonly apiKey?: string;
  /** An alternative base URL for the provider, such as a proxy. */
  readonly baseUrl?: string;
  /**
   * Used for every request to the provider. Default: a fetch that applies the egress policy, which
   * allows public addresses and `baseUrl`.
   */
  readonly fetch?: Fetch;
  /** The size of the context window in tokens, if it is unknown or differs from our table. */
  readonly contextTokens?: number;
  /** Without a price, no cost is calculated. */
  readonly price?: ModelPrice;
  /** How much the model reasons before it answers. Default: the provider's default. */
  readonly reasoning?: ReasoningEffort;
  /**
   * Provider-specific options as documented by the AI SDK, such as `{ anthropic: { cacheControl: {
   * type: "ephemeral" } } }`.
   */
  readonly providerOptions?: ProviderData;
  /** Where keys and base URLs are looked up. Default: the environment of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** The result of parsing a model spec. */
export type ParsedSpec =
  | { readonly kind: "demo" }
  | { readonly kind: "provider"; readonly provider: ProviderName; readonly name: string }
  | { readonly kind: "compatible"; readonly baseUrl: string; readonly name: string };

/**
 * Parses specs such as `anthropic:claude-sonnet-4-5`, `https://host/v1#model` and `demo`. Throws
 * immediately, so that a definition with an invalid model fails before anything runs.
 */
export function parseModelSpec(spec: string): ParsedSpec {
  if (spec === "demo") return { kind: "demo" };
  if (/^https?:\/\//i.test(spec)) return compatible(spec);
  const at = spec.indexOf(":");
  const provider = PROVIDER_NAMES.find((name) => name === spec.slice(0, Math.max(at, 0)));
  if (provider === undefined) {
    throw new ModelError("refused", `model: "${spec}" names no known provider; use ${FORMS}`);
  }
  const name = spec.slice(at + 1);
  if (name.trim() === "") {
    throw new ModelError("refused", `model: "${spec}" names no model; use "${provider}:<model>"`);
  }
  return { kind: "provider", provider, name };
}

function compatible(spec: string): ParsedSpec {
  const form = `use "https://host/v1#<model>"`;
  if (!URL.canParse(spec)) throw new ModelError("refused", `model: the address is broken; ${form}`);
  const url = new URL(spec);
  if (url.username !== "" || url.password !== "") {
    throw new ModelError(
      "refused",
      "model: the address holds a password; leave it out and set OPENAI_COMPATIBLE_API_KEY",
    );
  }
  const name = decodeURIComponent(url.hash.slice(1));
  if (name === "") {
    throw new ModelError("refused", `model: ${url.origin}${url.pathname} names no model; ${form}`);
  }
  url.hash = "";
  return { kind: "compatible", baseUrl: url.href, name };
}
