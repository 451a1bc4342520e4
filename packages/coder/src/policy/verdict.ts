/** What happens with a call: it runs, it needs an approval, or it never runs. */
export type Verdict = "allow" | "ask" | "deny";

/** From the most lenient to the strictest. */
export const VERDICTS: readonly Verdict[] = ["allow", "ask", "deny"];

/** The strictest of several verdicts; `allow` if there is none. */
export function strictest(verdicts: Iterable<Verdict>): Verdict {
  let worst = 0;
  for (const verdict of verdicts) worst = Math.max(worst, VERDICTS.indexOf(verdict));
  return VERDICTS[worst]!;
}

/**
 * How much an agent may do without asking.
 *
 * - `plan`: it only reads.
 * - `ask`: it asks before each change.
 * - `auto-edit`: it edits files of the workspace, and asks before it runs commands.
 * - `full`: it asks only where a rule or a safeguard demands it.
 */
export type Mode = "plan" | "ask" | "auto-edit" | "full";

/** From the strictest to the most lenient. */
export const MODES: readonly Mode[] = ["plan", "ask", "auto-edit", "full"];

/** The stricter of two modes. */
export function stricterMode(one: Mode, other: Mode): Mode {
  return MODES[Math.min(MODES.indexOf(one), MODES.indexOf(other))]!;
}
