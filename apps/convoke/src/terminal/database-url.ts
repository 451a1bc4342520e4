import { type CommandContext, UsageError } from "./command.ts";

/** The environment of commands that take the address of a database. */
export const DATABASE_ENVIRONMENT = {
  DATABASE_URL: "The address of the database, if none is given",
};

/** The address of the database that a command is about. */
export function readDatabaseUrl({ io, positionals }: CommandContext): string {
  const [url = io.env["DATABASE_URL"] ?? "", another] = positionals;
  if (another !== undefined) throw new UsageError(`"${another}" is an unexpected argument.`);
  if (url === "") throw new UsageError("The address of the database is missing.");
  if (isDatabaseUrl(url)) return url;
  throw new UsageError("The address of the database must be as in postgres://user@host/database.");
}

export function isDatabaseUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\/[^/]/.test(url) && URL.canParse(url);
}

/** By its name, because the class is loaded only by what uses a database. */
export function isDatabaseError(error: unknown): error is Error {
  return error instanceof Error && error.name === "DatabaseError";
}
