// The client is only loaded when a sub-agent is called, so its errors are recognized by their
// fields instead of by their classes.

/** Whether the remote agent itself returned the error, as opposed to a failure to reach it. */
export function isOfAgent(error: unknown): error is Error {
  return error instanceof Error && error.name === "RemoteError";
}

/** The error code, if there is one. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { readonly code?: unknown }).code : undefined;
}

/** Whether the agent's protocol version or binding cannot express the request. */
export function isUnspeakable(error: unknown): boolean {
  return error instanceof Error && (error as { readonly kind?: unknown }).kind === "unsupported";
}

const HOST = /(?:\[[0-9a-f:.]+\]|\b\d{1,3}(?:\.\d{1,3}){3}|\blocalhost)(?::\d+)?/gi;
const URL = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;

/**
 * Replaces addresses in an error text with the name of the sub-agent, because its location must not
 * be disclosed to the callers of this agent.
 */
export function withoutAddresses(text: string, name: string): string {
  return text.replaceAll(URL, name).replaceAll(HOST, name);
}
