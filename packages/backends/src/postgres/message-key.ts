import { hash } from "node:crypto";
import { toText } from "./text.ts";

/** Within what a message id is unique: each agent has its own. */
export interface IdScope {
  readonly owner: string;
  /** `null` if the task has none. */
  readonly agentId: string | null;
}

/** Half of a cryptographic hash, so that callers cannot choose ids that collide. `POST` computes the same. */
export function messageKey(
  { owner, agentId }: IdScope,
  { messageId }: { readonly messageId: string },
): string {
  return hash("sha256", toText(`${owner}\n${agentId ?? ""}\n${messageId}`), "hex").slice(0, 32);
}
