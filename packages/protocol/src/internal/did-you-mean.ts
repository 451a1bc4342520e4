/** The most similar name, or `undefined` if none is similar enough. */
function nearest(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(typed, name) }))
    .toSorted((left, right) => left.distance - right.distance);
  const [best] = ranked;
  if (best === undefined) return undefined;
  // Accept two typos in a long word and one in a short one.
  return best.distance <= (best.name.length > 4 ? 2 : 1) ? best.name : undefined;
}

/** " Did you mean x?", or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const name = nearest(typed, names);
  return name === undefined ? "" : ` Did you mean ${name}?`;
}

/** The number of insertions, deletions, changes and swaps of neighbours (Damerau-Levenshtein). */
function distanceOf(left: string, right: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      let cost = Math.min(
        (current[column - 1] ?? 0) + 1,
        (last[column] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (row > 1 && column > 1 && swapped)
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    [beforeLast, last] = [last, current];
  }
  return last[right.length] ?? 0;
}
