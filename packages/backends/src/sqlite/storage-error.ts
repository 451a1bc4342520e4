/** What SQLite's result codes are called, for those that a working program can meet. */
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

/** The commit itself failed: none of its steps was written, and the next one may well succeed. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  /** SQLite's name for it, such as `SQLITE_FULL`. */
  readonly code: string;

  constructor(failure: Failure) {
    super(`the commit failed: ${failure.message} (${failure.code})`);
    this.code = failure.code;
  }
}

/** An error as it travels between threads: cloning keeps only the message of an `Error`. */
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

/** The code of an error of SQLite, without the detail of its upper bits; `undefined` for any other error. */
export function primaryCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number")
    return undefined;
  const primary = error.errcode & 0xff;
  return CODES[primary] ?? `SQLITE_${primary}`;
}
