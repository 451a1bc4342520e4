import { StorageError } from "../storage/storage-error.ts";

/** The database cannot be used. The message says why and what to do, in one sentence. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";

  static newer({ label, schema }: DatabaseName, stored: number, known: number): DatabaseError {
    return new DatabaseError(
      `schema ${schema} of ${label} was made by a newer version of Convoke (schema version ${stored}; this one knows ${known}): upgrade this process`,
    );
  }

  /** Migrations are missing that this process must not apply by itself. */
  static notMigrated(name: DatabaseName, stored: number, known: number): DatabaseError {
    const { label, schema, adminUrl } = name;
    const seen =
      stored === 0
        ? `has no tables in schema ${schema}`
        : `has version ${stored} of schema ${schema}, and this process needs ${known}`;
    return new DatabaseError(`${label} ${seen}: run convoke database migrate ${adminUrl}`);
  }

  /** Another process or session is in the way of a migration. */
  static busy({ label, schema }: DatabaseName, why: string): DatabaseError {
    return new DatabaseError(`schema ${schema} of ${label} could not be migrated: ${why}`);
  }

  /** Explains why the database could not be opened. Passwords are never part of it. */
  static unusable(name: DatabaseName, error: unknown): DatabaseError {
    if (error instanceof DatabaseError) return error;
    return new DatabaseError(`${name.label} ${reason(name, error)}`, { cause: error });
  }
}

interface DatabaseName {
  readonly label: string;
  readonly schema: string;
  readonly adminUrl: string;
}

const REFUSED: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "does not answer (connection refused): is Postgres running, and is the address right?",
  ENOTFOUND: "was not found: is the host name right?",
  EAI_AGAIN: "was not found: is the host name right?",
  ENOENT: "does not answer: is Postgres running, and is the path of its socket right?",
  ETIMEDOUT: "does not answer: is the address right, and does a firewall allow the connection?",
};

function reason({ label, schema, adminUrl }: DatabaseName, error: unknown): string {
  const database = label.slice(label.lastIndexOf("/") + 1);
  switch (sqlState(error)) {
    case "28P01":
    case "28000":
      return "rejects the user or the password: check both in the address";
    case "3D000":
      return `does not exist: create it with CREATE DATABASE ${database}, or correct its name in the address`;
    case "42501":
      return `does not allow this user to create or use the tables of schema ${schema}: run convoke database migrate ${adminUrl} --grant <this user>`;
    case "25006":
      return "accepts no writes: is it a standby? Use the address of the primary server";
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
