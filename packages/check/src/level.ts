/** How strongly the specification asks for something (RFC 2119). */
export const LEVELS = ["MUST", "SHOULD", "MAY"] as const;

export type Level = (typeof LEVELS)[number];

/** Whether a failure at this level counts where `least` is the weakest that counts. */
export function counts(level: Level, least: Level): boolean {
  return LEVELS.indexOf(level) <= LEVELS.indexOf(least);
}
