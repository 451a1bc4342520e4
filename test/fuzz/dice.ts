/** Numbers from 0 (included) to 1 (excluded). */
export type Random = () => number;

/** A whole number from 0 to below `limit`. */
export function below(limit: number, random: Random): number {
  return Math.floor(random() * limit);
}

export function pick<T>(items: readonly T[], random: Random): T {
  return items[below(items.length, random)]!;
}

/** Calls `make` this many times with the index. */
export function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

export function noise(length: number, random: Random): Buffer {
  return Buffer.from(times(length, () => below(256, random)));
}

/** Changes up to three bytes, and in one of ten cases drops the rest. */
export function spoiltBytes(bytes: Uint8Array, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  for (let count = below(4, random); count > 0; count--) {
    copy[below(copy.length, random)] = below(256, random);
  }
  return random() < 0.1 ? copy.subarray(0, below(copy.length, random)) : copy;
}

/** Chunks that together are the bytes. */
export function split(bytes: Buffer, random: Random): readonly Buffer[] {
  const cuts = times(1 + below(6, random), () => below(bytes.length + 1, random));
  const ends = [...cuts, bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
}

export function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

/** Does the work this many times, with limited concurrency. */
export async function many(
  atOnce: number,
  total: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let begun = 0;
  const one = async (): Promise<void> => {
    while (begun < total) await work(begun++);
  };
  await Promise.all(times(atOnce, one));
}
