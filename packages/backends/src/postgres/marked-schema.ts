import { type TransferMark, readMark, whyMarked } from "../storage/transfer-mark.ts";
import type { Connection, Statement } from "./connection.ts";
import { DatabaseError } from "./database-error.ts";

/** Keys of the table `meta`. The second is of earlier versions: how much of a move was written. */
const MARK = "transfer";
const WRITTEN = "transfer_written";

const GET_META = "SELECT value FROM @.meta WHERE key = $1";

const SET_META = `
  INSERT INTO @.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`;

/** What the schema says about a move. Its tables must exist. */
export async function readSchemaMark(connection: Connection): Promise<TransferMark | undefined> {
  const [row] = await connection.rows(GET_META, [MARK]);
  return row && readMark(String(row[0]));
}

/** The statement that stores a mark, or removes it. */
export function schemaMarkStatement(mark: TransferMark | undefined): Required<Statement> {
  return mark === undefined
    ? { text: "DELETE FROM @.meta WHERE key IN ($1, $2)", values: [MARK, WRITTEN] }
    : { text: SET_META, values: [MARK, JSON.stringify(mark)] };
}

/**
 * Rejects if a server must not use the schema. Called also after the server has its lease: a move sets
 * the mark first and looks for leases then, so that one of both notices the other.
 */
export async function refuseMarked(connection: Connection, schema: string): Promise<void> {
  const mark = await readSchemaMark(connection);
  if (mark !== undefined) {
    throw new DatabaseError(`schema "${schema}" ${whySchemaMarked(mark, schema)}`);
  }
}

/** To follow the name of the schema, without a full stop. */
export function whySchemaMarked(mark: TransferMark, schema: string): string {
  return whyMarked(mark, {
    remove: `execute DROP SCHEMA "${schema}" CASCADE`,
    unmark: `execute DELETE FROM "${schema}".meta WHERE key = '${MARK}'`,
  });
}
