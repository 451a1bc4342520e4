import type { HolderFacts } from "./data-folder-error.ts";

export interface SqliteBackendOptions {
  /** Where the database lives. Created, for this user alone, when it is missing. */
  readonly folder: string;

  /**
   * What a resolved commit survives: `"power"`, the default, the loss of power
   * (`synchronous=FULL`, one sync of the disk for each group of commits);
   * `"process"` only the end of the process (`NORMAL`), which is several times faster.
   */
  readonly durability?: "power" | "process";

  /**
   * Called once when the writer thread died. Nothing can be committed any more;
   * a server should say so in one sentence and exit, so that it is started again.
   */
  readonly onFatal?: (error: Error) => void;

  /** Facts about this process, such as its port, that the next one is shown when it finds the folder in use. */
  readonly holder?: HolderFacts;

  /** How long a commit waits for another program that writes to the database: 5000 by default. */
  readonly busyTimeoutMs?: number;

  /**
   * The size the database may grow to; then commits reject and reads go on. No
   * limit by default. The write-ahead log comes on top, some megabytes.
   */
  readonly maxBytes?: number;
}
