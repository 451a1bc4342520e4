import { type TransferMark, readMark, whyMarked } from "../storage/transfer-mark.ts";
import type { Connection } from "./connection.ts";
import { DatabaseError } from "./database-error.ts";

/** Keys of the table `meta`. */
const MARK = "transfer";
const WRITTEN = "transfer_written";

export const GET_META = "SELECT value FROM @.meta WHERE key = $1";

export const SET_META = `
  INSERT INTO @.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`;

/** What the schema says about a move. Its tables must exist. */
export async function readSchemaMark(connection: Connection): Promise<TransferMark | undefined> {
  const [row] = await connection.rows(GET_META, [MARK]);
  return row && readMark(String(row[0]));
}

/** Also forgets how much was written, unless there is still a mark. */
export async function writeSchemaMark(
  connection: Connection,
  mark: TransferMark | undefined,
): Promise<void> {
  if (mark !== undefined) await connection.rows(SET_META, [MARK, JSON.stringify(mark)]);
  else await connection.rows(CLEAR_MARK, [MARK, WRITTEN]);
}

const CLEAR_MARK = "DELETE FROM @.meta WHERE key IN ($1, $2)";

/** How many records of a move the schema has. */
export async function readWritten(connection: Connection): Promise<number> {
  const [row] = await connection.rows(GET_META, [WRITTEN]);
  return Number(row?.[0] ?? 0);
}

/** The statement that stores it, to be executed together with what is written. */
export function setWritten(written: number): { text: string; values: readonly string[] } {
  return { text: SET_META, values: [WRITTEN, String(written)] };
}

/**
 * Rejects if a server must not use the schema. Called also after the server has its lease: a move sets
 * the mark first and looks for leases then, so that one of both notices the other.
 */
export async function refuseMarked(connection: Connection, schema: string): Promise<void> {
  const mark = await readSchemaMark(connection);
  if (mark !== undefined) {
    throw new DatabaseError(`schema ${schema} ${whyMarked(mark)} and its address`);
  }
}
