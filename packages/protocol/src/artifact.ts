import type { A2APart, Metadata } from "./part.ts";

/** Something an agent made: the text of its answer, a file, a record. */
export interface A2AArtifact {
  readonly artifactId: string;
  readonly name?: string;
  readonly description?: string;
  readonly parts: readonly A2APart[];
  readonly extensions?: readonly string[];
  readonly metadata?: Metadata;
}
