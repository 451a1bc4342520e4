import { StorageError } from "../storage/storage-error.ts";

/** The database cannot be used. The message says why and what to do, in one sentence. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";

  static newer(schema: string, stored: number, known: number): DatabaseError {
    return new DatabaseError(
      `schema ${schema} was made by a newer version of Convoke (schema version ${stored}; this one knows ${known}): upgrade this process`,
    );
  }

  /** Explains why the database could not be opened. Passwords are never part of it. */
  static unusable(label: string, schema: string, error: unknown): DatabaseError {
    if (error instanceof DatabaseError) return error;
    return new DatabaseError(`${label} ${reason(label, schema, error)}`, { cause: error });
  }
}

const REFUSED: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "does not answer (connection refused): is Postgres running, and is the address right?",
  ENOTFOUND: "was not found: is the host name right?",
  EAI_AGAIN: "was not found: is the host name right?",
  ENOENT: "does not answer: is Postgres running, and is the path of its socket right?",
  ETIMEDOUT: "does not answer: is the address right, and does a firewall allow the connection?",
};

function reason(label: string, schema: string, error: unknown): string {
  const database = label.slice(label.lastIndexOf("/") + 1);
  switch (sqlState(error)) {
    case "28P01":
    case "28000":
      return "rejects the user or the password: check both in the address";
    case "3D000":
      return `does not exist: create it with CREATE DATABASE ${database}, or correct its name in the address`;
    case "42501":
      return `does not allow this user to create or use schema ${schema}: grant CREATE on database ${database}, or let an administrator open it once`;
    case "53300":
      return "has no free connections: raise max_connections, or run fewer processes (each needs up to 8)";
    case undefined:
      break;
    default:
      return `cannot be used: ${(error as Error).message}`;
  }
  const message = error instanceof Error ? error.message : String(error);
  if (message === "timeout expired") return REFUSED["ETIMEDOUT"]!;
  return REFUSED[codeOf(error) ?? ""] ?? `cannot be used: ${message}`;
}

/**
 * The SQLSTATE of an error of the server. Any other error, such as a lost connection, leaves unknown
 * whether the statement was executed.
 */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("severity" in error)) return undefined;
  return codeOf(error);
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** A call after `close`: a mistake of the caller, not a failure of the storage. */
export class ClosedError extends Error {
  constructor() {
    super("the backend is closed");
  }
}

/** The error with which a call rejects after the database failed. */
export function toFailure(error: unknown, what?: string): Error {
  if (error instanceof StorageError || error instanceof ClosedError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error) ?? "UNKNOWN";
  return new StorageError({ code, message }, { ...(what && { what }), cause: error });
}
