import type { ProtocolVersion } from "@convoke/protocol";
import type { Level } from "./level.ts";

/** One requirement of one version: a row of the server checklists. */
export interface Claim {
  /** Such as `v1-S14`. */
  readonly requirement: string;
  readonly version: ProtocolVersion;
  readonly level: Level;
  /** Such as `1.0 §3.1.2`. */
  readonly section: string;
}

/** The id tells the version: `v1-S14` is of 1.0, and `v03-S7` of 0.3. */
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
