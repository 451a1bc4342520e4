import type { AiSdkModel } from "../ai-sdk/ai-sdk-model.ts";
import type { Fetch } from "../ai-sdk/one-request.ts";
import type { ProviderData } from "../../model/model.ts";
import { ModelError } from "../../model/model-error.ts";

/** The providers that a model spec can name. */
export const PROVIDER_NAMES = ["anthropic", "openai", "google", "ollama"] as const;

export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** A service that offers models. */
export interface Provider {
  /** The optional package that it needs. */
  readonly packageName: string;
  /** The environment variable that holds its key, unless a key is given. */
  readonly keyVariable?: string;
  /** The environment variable that may hold an alternative base URL. */
  readonly baseUrlVariable?: string;
  /** The base URL of a provider that usually does not run at a public address. */
  addressOf?(baseUrl: string | undefined): string;
  /** Loads the provider's package and creates a model. */
  open(name: string, settings: ProviderSettings): Promise<AiSdkModel>;
  /** Provider options that are sent with each request. */
  defaults?(settings: { readonly isThinking: boolean }): ProviderData;
}

export interface ProviderSettings {
  readonly apiKey: string;
  readonly baseUrl: string | undefined;
  readonly fetch: Fetch;
}

/** Loads an optional package. */
export async function loadPackage<T>(name: string): Promise<T> {
  try {
    // By a variable, so that bundlers do not demand packages that are optional.
    return (await import(name)) as T;
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    throw new ModelError("unavailable", missingText(name), { cause });
  }
}

/** Whether an optional package is missing, without loading it. */
export function packageProblems(name: string): readonly string[] {
  try {
    import.meta.resolve(name);
    return [];
  } catch (error) {
    // A bundle may contain the package although it cannot be resolved here; then using it says why.
    return isMissing(error, name) ? [missingText(name)] : [];
  }
}

function missingText(name: string): string {
  return `the package ${name} is not installed; run: npm install ${name}`;
}

/** Whether the package itself is missing, rather than one of its dependencies. */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" && error.message.includes(`'${name}'`);
}
