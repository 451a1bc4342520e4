import type { Caller } from "@convoke/protocol";
import { sha256 } from "./blobs.ts";

/**
 * Identifies a conversation. Two callers may use the same contextId: each has a conversation of its
 * own, so whatever the agent keeps about a conversation is stored under both.
 */
export interface SessionKey {
  readonly owner: string;
  readonly contextId: string;
}

/**
 * The owner on a server without authentication. Checkpoints of earlier versions, which did not
 * store their owner, belong to it.
 */
export const SINGLE_USER = "anonymous";

/** The conversation of a call or a turn. */
export function sessionKey(caller: Pick<Caller, "owner">, contextId: string): SessionKey {
  return { owner: caller.owner, contextId };
}

/** The key as one text, for maps. */
export function keyText({ owner, contextId }: SessionKey): string {
  return JSON.stringify([owner, contextId]);
}

/** The name under which something about the conversation is stored. */
export function keyName(key: SessionKey): string {
  return sha256(Buffer.from(keyText(key)));
}
