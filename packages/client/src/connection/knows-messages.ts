import { EXTENSIONS, type RawCard } from "@convoke/protocol";
import { declaresExtension } from "../cards/declares-extension.ts";

/** Whether the agent says that it does a message once, however often it comes with the same id. */
export function knowsMessages(card: RawCard): boolean {
  return declaresExtension(card, EXTENSIONS.idempotency.uri);
}
