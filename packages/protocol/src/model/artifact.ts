import { type A2APart, type Metadata, joinAll, joinParts } from "./part.ts";

/** An output of an agent: the text of its answer, a file, a record. */
export interface A2AArtifact {
  readonly artifactId: string;
  readonly name?: string;
  readonly description?: string;
  readonly parts: readonly A2APart[];
  readonly extensions?: readonly string[];
  readonly metadata?: Metadata;
}

/** Artifacts with fewer parts are copied with each chunk, which is faster than collecting chunks. */
const MIN_COLLECTED_PARTS = 64;

/**
 * Chunks that were appended to an artifact and not yet joined. All versions of one artifact share
 * the list of chunks; `count` says how many of them belong to this version.
 */
interface PendingChunks {
  readonly described: Omit<A2AArtifact, "parts">;
  readonly parts: readonly A2APart[];
  readonly chunks: (readonly A2APart[])[];
  readonly count: number;
}

const pending = new WeakMap<A2AArtifact, PendingChunks>();

/**
 * The artifact with one more chunk. An artifact with many parts joins its chunks only when `parts`
 * is read, so that appending a chunk costs the same however many came before it (guarantee G9:
 * linear cost).
 */
export function appendChunk(artifact: A2AArtifact, more: A2AArtifact): A2AArtifact {
  const { parts: chunk, ...described } = more;
  const collected = pending.get(artifact) ?? startCollecting(artifact);
  if (collected === undefined) {
    return { ...artifact, ...described, parts: joinParts(artifact.parts, chunk) };
  }
  const { chunks, count } = collected;
  // Another version already appended a chunk here, so the shared list is no longer ours.
  const own = chunks.length === count ? chunks : chunks.slice(0, count);
  own.push(chunk);
  return collecting({
    described: { ...collected.described, ...described },
    parts: collected.parts,
    chunks: own,
    count: count + 1,
  });
}

function startCollecting(artifact: A2AArtifact): PendingChunks | undefined {
  const { parts, ...described } = artifact;
  return parts.length < MIN_COLLECTED_PARTS
    ? undefined
    : { described, parts, chunks: [], count: 0 };
}

function collecting(collected: PendingChunks): A2AArtifact {
  const { described, parts, chunks, count } = collected;
  let value: readonly A2APart[] | undefined;
  const artifact = Object.defineProperty({ ...described }, "parts", {
    get: () => {
      if (value !== undefined) return value;
      value = joinAll(parts, chunks.slice(0, count));
      pending.set(artifact, { described, parts: value, chunks: [], count: 0 });
      return value;
    },
    enumerable: true,
  }) as A2AArtifact;
  pending.set(artifact, collected);
  return artifact;
}
