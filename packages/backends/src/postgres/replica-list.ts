import type { Replica } from "@convoke/engine";
import { Connection, toAddress } from "./connection.ts";
import { DatabaseError } from "./database-error.ts";
import { readVersion } from "./migrations.ts";
import { MIGRATIONS } from "./schema.ts";
import { REPLICAS } from "./sharing-sql.ts";
import { toReplicas } from "./sharing.ts";

/**
 * The servers that use a database, and those that did in the last hour, without becoming one of them.
 * Rejects with a `DatabaseError` if the database cannot be read.
 *
 * @example
 * const replicas = await readReplicas("postgres://convoke@localhost/convoke");
 * const isUp = replicas.some(({ leaseMs }) => leaseMs > 0);
 */
export async function readReplicas(url: string): Promise<readonly Replica[]> {
  const address = toAddress(url);
  const connection = new Connection(address);
  try {
    const { version } = await readVersion(connection, address.schema);
    if (version === 0) throw DatabaseError.notMigrated(address, version, MIGRATIONS.length);
    return toReplicas(await connection.rows(REPLICAS));
  } catch (error) {
    throw DatabaseError.unusable(address, error);
  } finally {
    await connection.close();
  }
}
