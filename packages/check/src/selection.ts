import type { Claim } from "./claim.ts";
import { idOf } from "./probe.ts";

/** Whether a probe is among those asked for, by its own id or by that of its requirement. */
export function isChosen(
  probe: { readonly name: string; readonly says: string },
  claim: Claim,
  only: readonly string[],
): boolean {
  if (only.length === 0) return true;
  return only.includes(claim.requirement) || only.includes(idOf(probe, claim));
}
