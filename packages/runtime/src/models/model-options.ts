import type { AiSdkModel, ReasoningEffort } from "./ai-sdk/ai-sdk-model.ts";
import type { Fetch } from "./ai-sdk/one-request.ts";
import type { Model, ModelPrice, ProviderData } from "../model/model.ts";
import { ModelError } from "../model/model-error.ts";

/** The providers that a spec can name. */
const PROVIDER_NAMES = ["anthropic", "openai", "google", "ollama"] as const;

const FORMS = [
  ...PROVIDER_NAMES.map((name) => `"${name}:<model>"`),
  `"https://host/v1#<model>" (any OpenAI-compatible server)`,
  `"demo" (no key, no AI)`,
].join(", ");

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

export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** What the text of a spec names. */
export type ParsedSpec =
  | { readonly kind: "demo" }
  | { readonly kind: "provider"; readonly provider: ProviderName; readonly name: string }
  | { readonly kind: "compatible"; readonly baseUrl: string; readonly name: string };

/**
 * Reads `anthropic:claude-sonnet-4-5`, `https://host/v1#model`, `demo` and the
 * like. Throws at once, so that a definition with a bad model fails before
 * anything runs.
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
