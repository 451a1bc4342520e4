import { randomFillSync } from "node:crypto";

const POOL_SIZE = 4096;
const pool = Buffer.allocUnsafe(POOL_SIZE);
let used = POOL_SIZE;

/** By how much a clock may be set back without the order of ids being lost. */
const MAX_BACK_MS = 60_000;
const MAX_COUNT = 0xfff;
let time = 0;
let count = 0;

/**
 * A UUIDv7: ids sort by their creation, also those of one millisecond, because
 * the tasks of a conversation that were created together are ordered by them
 * (RFC 9562 §6.2, method 1). Random bytes are drawn in bulk because one draw
 * costs more than the rest of the id.
 */
export function newId(now: number = Date.now()): string {
  if (used + 8 > POOL_SIZE) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, (used += 8));
  random[0] = (random[0]! & 0x3f) | 0x80;
  tick(now);
  const at = time.toString(16).padStart(12, "0");
  const place = (0x7000 | count).toString(16);
  const hex = random.toString("hex");
  return `${at.slice(0, 8)}-${at.slice(8)}-${place}-${hex.slice(0, 4)}-${hex.slice(4)}`;
}

function tick(now: number): void {
  if (now > time || now < time - MAX_BACK_MS) {
    time = now;
    count = 0;
  } else if (count < MAX_COUNT) {
    count += 1;
  } else {
    time += 1;
    count = 0;
  }
}
