import { hash } from "node:crypto";
import type { PushRecord } from "../log/push-store.ts";
import type { Seq } from "../log/backend.ts";

/** A longer id of a config is told by its hash: receivers refuse headers without end. */
const LONGEST = 64;

/**
 * What a receiver tells notifications apart by: the same for every attempt,
 * another for each event and each time the config was put.
 */
export function deliveryIdOf({ taskId, id, generation }: PushRecord, seq: Seq): string {
  const encoded = encodeURIComponent(id);
  const name = encoded.length <= LONGEST ? encoded : hash("sha256", id, "base64url");
  return `${taskId}.${name}.${generation}.${seq}`;
}
