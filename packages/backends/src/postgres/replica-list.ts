import type { Replica, WaitingForHost } from "@convoke/engine";
import { Connection, toAddress } from "./connection.ts";
import { DatabaseError } from "./database-error.ts";
import { readVersion } from "./migrations.ts";
import { MIGRATIONS } from "./schema.ts";
import { REPLICAS, WAITING_FOR_HOSTS } from "./sharing-sql.ts";
import { toReplicas, toWaiting } from "./sharing.ts";

/** The servers of a database. */
export interface ReplicaList {
  readonly replicas: readonly Replica[];
  /** Tasks of local agents that no server can continue, by the host that they wait for. */
  readonly waitingForHosts: readonly WaitingForHost[];
}

/**
 * The servers that use a database, and those that did in the last hour, without becoming one of them.
 * Rejects with a `DatabaseError` if the database cannot be read.
 *
 * @example
 * const { replicas } = await readReplicas("postgres://convoke@localhost/convoke");
 * const isUp = replicas.some(({ leaseMs }) => leaseMs > 0);
 */
export async function readReplicas(url: string): Promise<ReplicaList> {
  const address = toAddress(url);
  const connection = new Connection(address);
  try {
    const { version } = await readVersion(connection, address.schema);
    if (version === 0) throw DatabaseError.notMigrated(address, version, MIGRATIONS.length);
    const replicas = toReplicas(await connection.rows(REPLICAS));
    const waitingForHosts = toWaiting(await connection.rows(WAITING_FOR_HOSTS, [Date.now()]));
    return { replicas, waitingForHosts };
  } catch (error) {
    throw DatabaseError.unusable(address, error);
  } finally {
    await connection.close();
  }
}
