import type { A2AArtifact } from "./artifact.ts";
import { joinAll, joinParts } from "./join-parts.ts";
import type { A2APart } from "./part.ts";

/** Up to this many parts are copied with each chunk: that is quicker than anything else. */
const FEW = 64;

/**
 * What was appended to an artifact while nobody looked at its parts. The versions of one artifact
 * share the list of chunks, and each knows how many of them are its own.
 */
interface Growth {
  readonly described: Omit<A2AArtifact, "parts">;
  readonly parts: readonly A2APart[];
  readonly chunks: (readonly A2APart[])[];
  readonly count: number;
}

const growths = new WeakMap<A2AArtifact, Growth>();

/**
 * The artifact with a chunk more. Where it has many parts they are put together when somebody reads
 * them: a chunk costs the same, however many came before it (G9).
 */
export function appendChunk(artifact: A2AArtifact, more: A2AArtifact): A2AArtifact {
  const { parts: chunk, ...described } = more;
  const growth = growths.get(artifact) ?? opened(artifact);
  if (growth === undefined) {
    return { ...artifact, ...described, parts: joinParts(artifact.parts, chunk) };
  }
  const { chunks, count } = growth;
  // When another version went on from the same place, the list is that one's.
  const own = chunks.length === count ? chunks : chunks.slice(0, count);
  own.push(chunk);
  return growing({
    described: { ...growth.described, ...described },
    parts: growth.parts,
    chunks: own,
    count: count + 1,
  });
}

function opened(artifact: A2AArtifact): Growth | undefined {
  const { parts, ...described } = artifact;
  return parts.length < FEW ? undefined : { described, parts, chunks: [], count: 0 };
}

function growing(growth: Growth): A2AArtifact {
  const { described, parts, chunks, count } = growth;
  let value: readonly A2APart[] | undefined;
  const artifact = Object.defineProperty({ ...described }, "parts", {
    get: () => {
      if (value !== undefined) return value;
      value = joinAll(parts, chunks.slice(0, count));
      growths.set(artifact, { described, parts: value, chunks: [], count: 0 });
      return value;
    },
    enumerable: true,
  }) as A2AArtifact;
  growths.set(artifact, growth);
  return artifact;
}
