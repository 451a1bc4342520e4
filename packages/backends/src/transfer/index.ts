// A name added here is a promise; keep it short.

export {
  type BackupOptions,
  type RestoreOptions,
  backupFolder,
  restoreFolder,
} from "./backup-folder.ts";
export { type CopyToDatabaseOptions, copyToDatabase } from "./copy-to-database.ts";
export { type CopyOptions, TransferError } from "./transfer-error.ts";
