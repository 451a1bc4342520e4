import type { ProtocolVersion } from "@convoke/protocol";
import type { CardScene } from "../scene/card.ts";
import type { Scene } from "../scene/scene.ts";
import type { Binding } from "../wire/client.ts";

interface ProbeFacts {
  /** Follows the requirement in the id: `v1-S14.first`. */
  readonly name: string;
  /** What a conforming server does, as a sentence. */
  readonly says: string;
}

/** A check of one interface. A probe with claims of both versions runs on interfaces of both. */
export interface Probe extends ProbeFacts {
  readonly claims: readonly Claim[];
  /** Default: all bindings. */
  readonly bindings?: readonly Binding[];
  /** Runs even if the gate probe did not pass, for example to call without credentials. */
  readonly needsNoGate?: true;
  /** Throws `Failed` or `Skipped`; otherwise the server has passed. */
  run(scene: Scene): Promise<void>;
}

/** A check of the card, before any interface is called. */
export interface CardProbe extends ProbeFacts {
  readonly claim: Claim;
  run(scene: CardScene): Promise<void>;
}

/** The id by which a probe is selected and reported. */
export function probeId({ name }: ProbeFacts, { requirement }: Claim): string {
  return `${requirement}.${name}`;
}

/** Whether a probe is selected, by its own id or by that of its requirement. */
export function isSelected(probe: ProbeFacts, claim: Claim, only: readonly string[]): boolean {
  if (only.length === 0) return true;
  return only.includes(claim.requirement) || only.includes(probeId(probe, claim));
}

/** How strongly the specification requires something (RFC 2119). */
export const LEVELS = ["MUST", "SHOULD", "MAY"] as const;

export type Level = (typeof LEVELS)[number];

/** Whether a failure at this level counts if `weakest` is the weakest level that does. */
export function meetsLevel(level: Level, weakest: Level): boolean {
  return LEVELS.indexOf(level) <= LEVELS.indexOf(weakest);
}

/** One requirement of one version: a row of the server checklists. */
export interface Claim {
  /** For example `v1-S14`. */
  readonly requirement: string;
  readonly version: ProtocolVersion;
  readonly level: Level;
  /** For example `1.0 §3.1.2`. */
  readonly section: string;
}

/** The id implies the version: `v1-S14` belongs to 1.0, `v03-S7` to 0.3. */
export function must(requirement: string, section: string): Claim {
  return claim(requirement, section, "MUST");
}

export function should(requirement: string, section: string): Claim {
  return claim(requirement, section, "SHOULD");
}

export function may(requirement: string, section: string): Claim {
  return claim(requirement, section, "MAY");
}

function claim(requirement: string, section: string, level: Level): Claim {
  const version = requirement.startsWith("v1-") ? "1.0" : "0.3";
  return { requirement, version, level, section: `${version} ${section}` };
}
