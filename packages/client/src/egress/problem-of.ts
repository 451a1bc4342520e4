/** A failure in one word, such as ECONNREFUSED. The texts of errors are not ours and may tell too much. */
export function problemOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" ? code : "unknown error";
}
