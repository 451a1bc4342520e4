import type { Failure } from "../storage/storage-error.ts";

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
