import { hostname } from "node:os";
import type { AuditStore, RateStore, RegistryStore } from "@convoke/engine";
import { PostgresAuditStore } from "./audit-store.ts";
import { connectPrepared } from "./migrations.ts";
import { PostgresRateStore } from "./rate-store.ts";
import { PostgresRegistryStore } from "./registry-store.ts";

/** What the servers on one database share in addition to their tasks. */
export interface ServerStores {
  readonly registry: RegistryStore;
  readonly rates: RateStore;
  readonly audit: AuditStore;
  readonly close: () => Promise<void>;
}

/**
 * Opens what the servers on a database share in addition to their tasks. It has a connection of its
 * own, so that no commit waits for it.
 *
 * @example
 * const stores = await openPostgresStores({ url: "postgres://convoke@localhost/convoke" });
 */
export async function openPostgresStores({
  url,
  host = hostname(),
}: {
  /** The address of the database, as for `openPostgresBackend`. */
  readonly url: string;
  /** The id of this machine in audit entries. Default: its host name. */
  readonly host?: string;
}): Promise<ServerStores> {
  const connection = await connectPrepared(url);
  const rates = new PostgresRateStore(connection);
  const audit = new PostgresAuditStore(connection, host);
  return {
    registry: new PostgresRegistryStore(connection),
    rates,
    audit,
    close: () => {
      rates.close();
      audit.close();
      return connection.close();
    },
  };
}
