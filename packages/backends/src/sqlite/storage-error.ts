/** The transaction failed: none of its writes was stored. The next one may succeed. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  /** A server answers 503, so that its callers return. */
  readonly isPermanent = false;
  /** The SQLite result code, such as `SQLITE_FULL`. */
  readonly code: string;

  constructor(failure: Failure) {
    super(`the commit failed: ${failure.message} (${failure.code})`);
    this.code = failure.code;
  }
}

/** An error that is sent between threads. Structured cloning would keep only the message of an `Error`. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

export function toFailure(error: unknown): Failure {
  return {
    code: primaryCode(error) ?? "UNKNOWN",
    message: error instanceof Error ? error.message : String(error),
  };
}

/** Whether the database is damaged, so that no later attempt can succeed. */
export function isDamage(code: string | undefined): boolean {
  return code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}

/** The names of the SQLite result codes that can occur in practice. */
const CODES: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  20: "SQLITE_MISMATCH",
  26: "SQLITE_NOTADB",
};

/** The primary result code of a SQLite error; `undefined` for other errors. */
export function primaryCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number")
    return undefined;
  const primary = error.errcode & 0xff;
  return CODES[primary] ?? `SQLITE_${primary}`;
}
