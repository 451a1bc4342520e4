import type { Claim } from "./claim.ts";
import type { CardScene } from "./scene/card-scene.ts";
import type { Scene } from "./scene/scene.ts";
import type { Binding } from "./wire/binding.ts";

interface ProbeFacts {
  /** Follows the requirement in the id: `v1-S14.first`. */
  readonly name: string;
  /** What a good server does, as a sentence. */
  readonly says: string;
}

/** Something that is tried at one interface. Where it has claims of both versions, both are tried. */
export interface Probe extends ProbeFacts {
  readonly claims: readonly Claim[];
  /** All of them unless told otherwise. */
  readonly bindings?: readonly Binding[];
  /** Whether it can be tried also where the interface serves nothing, as to who has no credentials. */
  readonly needsNoGate?: true;
  /** Throws `Failed` or `Skipped`; otherwise the server has passed. */
  run(scene: Scene): Promise<void>;
}

/** Something that is tried at the card, before any interface is spoken to. */
export interface CardProbe extends ProbeFacts {
  readonly claim: Claim;
  run(scene: CardScene): Promise<void>;
}

/** The id by which a probe is chosen and reported. */
export function idOf({ name }: ProbeFacts, { requirement }: Claim): string {
  return `${requirement}.${name}`;
}
