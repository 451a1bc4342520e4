import type { RawCard } from "@convoke/protocol";

/** Whether a card declares an extension, whatever else it says of it. */
export function declaresExtension(card: RawCard, uri: string): boolean {
  const { extensions } = (card["capabilities"] ?? {}) as { readonly extensions?: unknown };
  if (!Array.isArray(extensions)) return false;
  return (extensions as readonly unknown[]).some(
    (extension) => (extension as { readonly uri?: unknown } | null)?.uri === uri,
  );
}
