import type { AiSdkModel } from "../ai-sdk/ai-sdk-model.ts";
import type { Fetch } from "../ai-sdk/one-request.ts";
import type { ProviderData } from "../../model/model.ts";
import { ModelError } from "../../model/model-error.ts";

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

/**
 * Loads an optional package. The import itself
 * stays with the caller, so that bundlers and type checks can follow it.
 */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    throw new ModelError(
      "refused",
      `the package ${name} is not installed; run: npm install ${name}`,
      { cause },
    );
  }
}

/** Whether the package itself is not there, rather than something it needs. */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" && error.message.includes(`'${name}'`);
}
