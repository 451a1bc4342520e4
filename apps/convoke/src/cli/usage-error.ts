/** The command line cannot be understood; the message is one sentence that names what is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
