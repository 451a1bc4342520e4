/** The name that was probably meant, or `undefined` when none is near. */
function nearest(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(typed, name) }))
    .toSorted((left, right) => left.distance - right.distance);
  const [best] = ranked;
  if (best === undefined) return undefined;
  // Two slips in a long word, one in a short one; more would be a guess.
  return best.distance <= (best.name.length > 4 ? 2 : 1) ? best.name : undefined;
}

/** " Did you mean x?", or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const name = nearest(typed, names);
  return name === undefined ? "" : ` Did you mean ${name}?`;
}

/** How many letters must be added, left out, changed, or swapped with the next one. */
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
