// A name added here is a promise; keep it short.

export { openSqliteBackend } from "./sqlite-backend.ts";
export type { SqliteBackendOptions } from "./sqlite-backend.ts";
export { oldRegistryIn } from "./old-registry.ts";
export { type MoveOptions, moveDataFolder } from "./move-data.ts";

// What can go wrong
export { DataFolderBusyError, DataFolderError, type HolderFacts } from "./data-folder.ts";
export { StorageError } from "../storage/storage-error.ts";
