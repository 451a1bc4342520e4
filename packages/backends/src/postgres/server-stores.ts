import { hostname } from "node:os";
import type { AuditStore, RateStore } from "@convoke/engine";
import type { OldRegistry } from "../storage/old-registry.ts";
import { PostgresAuditStore } from "./audit-store.ts";
import { connectPrepared } from "./migrations.ts";
import { oldRegistryAt } from "./old-registry.ts";
import { PostgresRateStore } from "./rate-store.ts";
import { schemaOf } from "./sub-agent-schema.ts";

/** What the servers on one database share in addition to their tasks. */
export interface ServerStores {
  readonly rates: RateStore;
  readonly audit: AuditStore;
  readonly oldRegistry: OldRegistry;
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
    rates,
    audit,
    oldRegistry: oldRegistryAt(connection, schemaOf(url)),
    close: () => {
      rates.close();
      audit.close();
      return connection.close();
    },
  };
}
