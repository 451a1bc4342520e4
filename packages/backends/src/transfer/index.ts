// A name added here is a promise; keep it short.

export {
  type BackupOptions,
  type RestoreOptions,
  backupStores,
  restoreStores,
} from "./backup-stores.ts";
export type { Copied, CopyOptions, TransferProgress } from "./copy-records.ts";
export { type MigrateOptions, migrateStores, undoMove } from "./migrate-stores.ts";

// What can go wrong
export { TransferError } from "./store.ts";
