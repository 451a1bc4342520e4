/** A busy connection is not used for longer, so that a name that has moved is found at its new place. */
export const MAX_AGE_MS = 5 * 60_000;

/** When a connection has been silent for so long, the system asks whether the other machine is there. */
export const PROBE_AFTER_MS = 30_000;
