import type { A2APart } from "./part.ts";

/**
 * What `longer` has beyond `shorter`, or nothing when it does not begin with it: the opposite of
 * `joinParts`. Who asks says when two parts are the same.
 */
export function partsBeyond(
  longer: readonly A2APart[],
  shorter: readonly A2APart[],
  isSame: (one: unknown, other: unknown) => boolean,
): readonly A2APart[] | undefined {
  const last = shorter.length - 1;
  for (const [place, part] of shorter.entries()) {
    const other = longer[place];
    if (isSame(part, other)) continue;
    if (place !== last || part.kind !== "text" || other?.kind !== "text") return undefined;
    if (!isSame({ ...other, text: "" }, { ...part, text: "" })) return undefined;
    if (!other.text.startsWith(part.text)) return undefined;
    return [{ ...other, text: other.text.slice(part.text.length) }, ...longer.slice(place + 1)];
  }
  return longer.slice(shorter.length);
}
