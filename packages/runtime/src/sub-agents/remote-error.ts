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
