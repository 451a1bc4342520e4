// A name added here is a promise; keep it short.

export { openPostgresBackend } from "./postgres-backend.ts";
export type { PostgresBackendOptions } from "./postgres-backend.ts";
export { hostedAgentUrl, subAgentUrl } from "./sub-agent-schema.ts";

// What can go wrong
export { DatabaseError } from "./database-error.ts";
export { StorageError } from "../storage/storage-error.ts";
