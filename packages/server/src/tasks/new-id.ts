import { randomFillSync } from "node:crypto";

const POOL_SIZE = 4096;
const pool = Buffer.allocUnsafe(POOL_SIZE);
let used = POOL_SIZE;

/**
 * A UUIDv7: the ids of tasks sort by their creation, which keeps new rows of a
 * store together. Random bytes are drawn in bulk because one draw costs more
 * than the rest of the id.
 */
export function newId(now: number = Date.now()): string {
  if (used + 10 > POOL_SIZE) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, (used += 10));
  random[0] = (random[0]! & 0x0f) | 0x70;
  random[2] = (random[2]! & 0x3f) | 0x80;
  const time = now.toString(16).padStart(12, "0");
  const hex = random.toString("hex");
  return `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`;
}
