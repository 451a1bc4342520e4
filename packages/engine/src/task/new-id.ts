import { randomFillSync } from "node:crypto";

const POOL_SIZE = 4096;
const pool = Buffer.allocUnsafe(POOL_SIZE);
let used = POOL_SIZE;
let time = 0;
let count = 0;

/**
 * Creates a UUIDv7. Task ids sort by creation time, also within a millisecond (RFC
 * 9562 §6.2, method 1), because the earlier tasks of a conversation are found by
 * their ids. Random bytes are generated in bulk, because a single call costs more
 * than the rest of the id.
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

const MAX_COUNT = 0xfff;

/** How far the clock may be set back without changing the order of ids. */
const MAX_BACK_MS = 60_000;

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
