// A name added here is a promise; keep it short.

export { openPostgresBackend } from "./postgres-backend.ts";
export type { PostgresBackendOptions } from "./postgres-backend.ts";
export { type OpenedValues, openPostgresValues } from "./key-values.ts";
export { readPostgresAudit } from "./audit-store.ts";
export type { StoredAuditEntry } from "./audit-store.ts";
export { openPostgresStores } from "./server-stores.ts";
export type { ServerStores } from "./server-stores.ts";
export { schemaOf, subAgentUrl } from "./sub-agent-schema.ts";

// Without a server
export {
  CONNECTIONS_PER_SERVER,
  type DatabaseFacts,
  type Standby,
  inspectDatabase,
  readDatabaseSummary,
} from "./database-facts.ts";
export { type MigrateOptions, type SchemaVersion, migrateDatabase } from "./migrations.ts";
export { type ReplicaList, readReplicas } from "./replica-list.ts";

// What can go wrong
export { DatabaseError } from "./database-error.ts";
export { StorageError } from "../storage/storage-error.ts";
