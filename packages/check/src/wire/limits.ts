/** What a probe reads at most, so that no server can keep it reading. */
export const MAX_BYTES = 1024 * 1024;
export const MAX_EVENTS = 200;
