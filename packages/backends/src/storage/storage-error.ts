/** The storage failed. The next call may succeed. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  /** A server answers 503, so that its callers return. */
  readonly isPermanent = false;
  /** The result code of the database, such as `SQLITE_FULL` or a SQLSTATE. */
  readonly code: string;

  constructor(
    failure: Failure,
    options: { readonly what?: string; readonly cause?: unknown } = {},
  ) {
    const { what = "the commit failed", ...rest } = options;
    super(`${what}: ${failure.message} (${failure.code})`, rest);
    this.code = failure.code;
  }
}

/** An error that is sent between threads. Structured cloning would keep only the message of an `Error`. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}
