// The client is loaded when a sub-agent is called, and not before, so that its
// errors are known by what they say instead of by their classes.

/** Whether the agent itself said no. */
export function isOfAgent(error: unknown): error is Error {
  return error instanceof Error && error.name === "RemoteError";
}

/** The code with which it said so. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { readonly code?: unknown }).code : undefined;
}

/** Whether what was wanted cannot be said to the agent at all. */
export function isUnspeakable(error: unknown): boolean {
  return error instanceof Error && (error as { readonly kind?: unknown }).kind === "unsupported";
}

const HOST = /(?:\[[0-9a-f:.]+\]|\b\d{1,3}(?:\.\d{1,3}){3}|\blocalhost)(?::\d+)?/gi;
const URL = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;

/**
 * A problem without addresses: the location of a sub-agent must not be disclosed
 * to the callers of the agent above it.
 */
export function withoutAddresses(text: string, name: string): string {
  return text.replaceAll(URL, name).replaceAll(HOST, name);
}
