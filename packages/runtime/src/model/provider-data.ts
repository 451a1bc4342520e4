import type { ProviderData } from "./model.ts";

/** What a provider said first, with what it said later on top. */
export function mergeProviderData(
  earlier: ProviderData | undefined,
  later: ProviderData | undefined,
): ProviderData | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  const all: Record<string, Readonly<Record<string, unknown>>> = { ...earlier };
  for (const [name, data] of Object.entries(later)) all[name] = { ...all[name], ...data };
  return all;
}
