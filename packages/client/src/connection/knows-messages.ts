import { EXTENSIONS } from "@convoke/protocol";
import type { RawCard } from "../discover.ts";

/** What an agent declares that does a message once, however often it comes with the same id. */
const { uri: IDEMPOTENCY } = EXTENSIONS.idempotency;

/** Whether the agent says that it knows a message by its id. */
export function knowsMessages(card: RawCard): boolean {
  const { extensions } = (card["capabilities"] ?? {}) as { readonly extensions?: unknown };
  if (!Array.isArray(extensions)) return false;
  return (extensions as readonly unknown[]).some(
    (extension) => (extension as { readonly uri?: unknown } | null)?.uri === IDEMPOTENCY,
  );
}
