import { randomFillSync } from "node:crypto";

const POOL_SIZE = 4096;
const pool = Buffer.allocUnsafe(POOL_SIZE);
/** The random bytes in hexadecimal digits. An id takes 16 of them. */
let digits = "";
let used = 0;
let time = 0;
/** The time as an id begins with it. */
let timeText = "";
let count = 0;

/**
 * Creates a UUIDv7. Task ids sort by creation time, also within a millisecond (RFC
 * 9562 §6.2, method 1), because the earlier tasks of a conversation are found by
 * their ids. Random digits are generated in bulk, because a single call costs more
 * than the rest of the id.
 */
export function newId(now: number = Date.now()): string {
  if (used === digits.length) drawDigits();
  tick(now);
  const place = (0x7000 | count).toString(16);
  const variant = digits.slice(used, used + 4);
  const node = digits.slice(used + 4, (used += 16));
  return `${timeText}-${place}-${variant}-${node}`;
}

function drawDigits(): void {
  randomFillSync(pool);
  for (let place = 0; place < POOL_SIZE; place += 8) pool[place] = (pool[place]! & 0x3f) | 0x80;
  digits = pool.toString("hex");
  used = 0;
}

const MAX_COUNT = 0xfff;

/** How far the clock may be set back without changing the order of ids. */
const MAX_BACK_MS = 60_000;

function tick(now: number): void {
  if (now > time || now < time - MAX_BACK_MS) setTime(now);
  else if (count < MAX_COUNT) count += 1;
  else setTime(time + 1);
}

function setTime(at: number): void {
  time = at;
  count = 0;
  const text = at.toString(16).padStart(12, "0");
  timeText = `${text.slice(0, 8)}-${text.slice(8)}`;
}
