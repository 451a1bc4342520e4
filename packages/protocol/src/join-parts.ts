import type { A2APart, TextPart } from "./part.ts";

/**
 * Chunks of plain text become one part. This keeps a streamed answer readable
 * as a snapshot, and the fold of n chunks linear.
 */
export function joinParts(parts: readonly A2APart[], more: readonly A2APart[]): readonly A2APart[] {
  const [only] = parts;
  const [first] = more;
  const isOneText = parts.length === 1 && more.length === 1 && isPlainText(only!);
  if (isOneText && isPlainText(first!)) return [joined(only, first)];
  return joinAll(parts, [more]);
}

/** The same for many chunks, one after the other. */
export function joinAll(
  parts: readonly A2APart[],
  chunks: Iterable<readonly A2APart[]>,
): readonly A2APart[] {
  const all = [...parts];
  for (const chunk of chunks) {
    const last = all.at(-1);
    const [first] = chunk;
    const isText = last !== undefined && first !== undefined && isPlainText(last);
    if (!isText || !isPlainText(first)) {
      all.push(...chunk);
      continue;
    }
    all[all.length - 1] = joined(last, first);
    for (let place = 1; place < chunk.length; place++) all.push(chunk[place]!);
  }
  return all;
}

function joined(one: TextPart, other: TextPart): TextPart {
  return { kind: "text", text: one.text + other.text };
}

/** A text about which nothing else is said. */
export function isPlainText(part: A2APart): part is TextPart {
  return (
    part.kind === "text" &&
    part.metadata === undefined &&
    part.mediaType === undefined &&
    part.filename === undefined
  );
}
